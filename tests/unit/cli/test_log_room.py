"""What the doctor says of the room in the logs."""

import pytest

from drover.cli.checks.log_room import finding_of
from drover.eventlog.quotas import LogSize

pytestmark = pytest.mark.req("YR-12")


@pytest.mark.parametrize(("used", "verdict"), [(80, "ok"), (81, "warn"), (95, "warn"), (96, "fail"), (100, "fail")])
def test_the_fullest_log_decides(used, verdict):
    finding = finding_of({"fleet": LogSize(used, 100), "render": LogSize(1, 100), "identity": LogSize(10**9, None)})
    assert finding.verdict == verdict
    assert finding.found == f"fleet {used}%, render 1% of their limits"
    assert ("DROVER_LOG_KEEP" in finding.remedy) == (verdict != "ok")


def test_logs_without_limits_are_well():
    assert finding_of({"fleet": LogSize(10**9, None)}).verdict == "ok"
