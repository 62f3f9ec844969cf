"""The first `drover up` on an empty directory: what is there, and what answers."""

from __future__ import annotations

import stat

import pytest
from prometheus_client.parser import text_string_to_metric_families

from drover.testing.waiting import eventually

FIRST_START_S = 60.0
"""It takes five seconds on an idle machine. Here four workers start servers on two cores."""
KEYS = {
    "url",
    "anon_key",
    "service_key",
    "cron_secret",
    "admin_email",
    "admin_password",
    "nats_url",
    "postgres_url",
}
ROUNDS = 3
UNITS = ("_seconds", "_bytes", "_ms", "_alarms")
"""The third is the seeds' own way of naming; the last counts things."""


async def test_it_is_ready_within_a_minute_and_says_so(platform, http):
    assert platform.ready_after_s < FIRST_START_S
    assert "Drover is ready" in platform.output
    assert platform.url in platform.output
    assert f"drover events tail --data-dir {platform.data_dir}\n" in platform.output, "it is not in .drover"
    for path in ("/livez", "/readyz"):
        answer = await http.get(path)
        assert (answer.status, answer.json) == (200, {"status": "ok", "reasons": {}})
    page = await http.get("/")
    assert page.status == 200
    assert page.headers["Content-Type"].startswith("text/html")
    assert b"Drover" in page.raw


async def test_the_keys_lie_in_a_file_that_only_its_owner_can_read(platform):
    credentials = platform.credentials
    assert set(credentials) == KEYS
    assert all(isinstance(value, str) and value for value in credentials.values())
    assert credentials["url"] == platform.url
    for name in ("credentials.json", "secrets.json"):
        assert stat.S_IMODE((platform.data_dir / name).stat().st_mode) == 0o600
    assert stat.S_IMODE(platform.data_dir.stat().st_mode) == 0o700


async def test_nothing_is_told_to_those_without_a_key(http):
    for path in ("/rest/v1/devices", "/rest/v1/events", "/api/status"):
        assert (await http.get(path, headers={"apikey": ""})).status == 401
    assert (await http.get("/rest/v1/events", anon=True)).status == 403


async def families(http):
    answer = await http.get("/metrics")
    assert answer.status == 200
    found = [
        family for family in text_string_to_metric_families(answer.raw.decode()) if family.name.startswith("drover_")
    ]
    assert len(found) > 10
    return found


def series(families):
    return {(sample.name, *sorted(sample.labels.items())) for family in families for sample in family.samples}


@pytest.mark.req("EV-07")
async def test_every_metric_says_what_it_is(http):
    for family in await families(http):
        assert len(family.documentation) > 10, family.name
        assert family.type != "unknown", family.name
        if family.type == "histogram":
            assert family.name.endswith(UNITS), f"{family.name} does not name its unit"


@pytest.mark.req("EV-07")
async def test_more_phones_make_no_more_metrics(http):
    async def live(*serials):
        assert (await http.register(*serials, headers={"Prefer": "return=representation"})).status == 201
        for serial in serials:
            assert (await http.beat(serial)).status == 204
            assert (await http.get(f"/rest/v1/devices?serial_number=eq.{serial}")).status == 200
        await eventually(lambda: all_online(serials))
        return series(await families(http))

    async def all_online(serials):
        rows = await http.rows("devices", f"serial_number=in.({','.join(serials)})")
        return len(rows) == len(serials) and all(row["status"] == "online" for row in rows)

    # A first command of another context, or an hour that turns, may add series meanwhile, but not time after time.
    known = await live("METRIC00000")
    for round_ in range(1, ROUNDS + 1):
        before, known = known, await live(*(f"METRIC{round_}{number:04}" for number in range(40)))
        if known == before:
            return
    pytest.fail(f"with more phones there were {known - before}")
