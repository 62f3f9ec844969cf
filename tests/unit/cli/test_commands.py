"""The edges of the command line: exit codes, usage, what counts as healthy."""

import socket
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

from drover.api.status import PartitionStatus, PlatformStatus
from drover.cli.checks import http, machine
from drover.cli.checks.finding import Scene, Verdict, fail, ok, skipped, warn
from drover.cli.checks.platform import skew_s
from drover.cli.commands.events import events
from drover.cli.doctor import CHECKS, examine, rendered
from drover.cli.errors import EventNotFound, NoPlatform
from drover.cli.exits import Exit, exit_code_of, explained
from drover.cli.output import console
from drover.cli.status import BEHIND_MAX, document, problems_of
from drover.cli.status import rendered as rendered_status
from drover.domain.errors import DroverError
from drover.eventlog.log import Partition
from drover.service.config import ConfigurationError
from drover.writer import refusals

AT = datetime(2026, 1, 31, tzinfo=UTC)


def test_exit_codes_are_what_scripts_rely_on():
    assert {code.name: code.value for code in Exit} == {
        "OK": 0,
        "FAILED": 1,
        "USAGE": 2,
        "NOT_FOUND": 3,
        "DEGRADED": 4,
        "UNREACHABLE": 5,
        "CONFIGURATION": 6,
        "BUSY": 7,
        "INTERRUPTED": 130,
    }
    assert all(f"{code.value:>3}  {code.meaning}" in explained() for code in Exit)


def test_errors_have_the_code_of_their_kind():
    assert exit_code_of(EventNotFound("9", 3)) is Exit.NOT_FOUND
    assert exit_code_of(ConfigurationError(("x",))) is Exit.CONFIGURATION
    assert exit_code_of(DroverError()) is Exit.FAILED

    class Special(NoPlatform):
        pass

    assert exit_code_of(Special.__new__(Special)) is Exit.UNREACHABLE


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["tail", "--since", "soon"], "is not a time"),
        (["tail", "--last", "-1"], "--last"),
        (["tail", "--from", "0"], "--from"),
        (["tail", "--context", "a.b"], "is not a name"),
        (["tail", "--context", "*"], "is not a name"),
        (["show", "x"], "is neither"),
        (["show", "0"], "is neither"),
        (["show", "1:"], "is neither"),
        (["show"], "Missing argument"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_refused_before_anything_is_asked(arguments, says):
    result = CliRunner().invoke(events, arguments)
    assert result.exit_code == Exit.USAGE
    assert says in result.output


FLEET = Partition("fleet")
NOBODY = refusals.no_leader(FLEET)
FULL = refusals.lease_not_renewed(FLEET, "no answer in time")


def partition(**changes):
    return PartitionStatus(
        **{
            "context": "fleet",
            "partition": "main",
            "leader": "one",
            "log_seq": 5,
            "projected_seq": 5,
            "behind": 0,
            "refusal": None,
            **changes,
        }
    )


@pytest.mark.req("YR-13")
def test_a_time_that_is_ahead_is_noted_and_the_platform_stays_healthy():
    status = PlatformStatus(AT, "connected", "connected", [partition(ahead_s=86_400.2)], {})
    assert problems_of(status) == []
    screen = console()
    with screen.capture() as shown:
        screen.print(rendered_status(status))
    assert "The time of fleet/main is 1 day, 0:00:00 ahead of the clock" in " ".join(shown.get().split())


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        (PlatformStatus(AT, "connected", "connected", [partition()], {}), None),
        (PlatformStatus(AT, "connected", "connected", [partition(behind=BEHIND_MAX)], {}), None),
        (PlatformStatus(AT, "connected", "connected", [partition(behind=BEHIND_MAX + 1)], {}), "commits behind"),
        (
            PlatformStatus(AT, "connected", "connected", [partition(leader=None, refusal=NOBODY)], {}),
            "Nobody leads fleet/main",
        ),
        (
            PlatformStatus(AT, "connected", "connected", [partition(refusal=FULL)], {}),
            "make room and then restart nats-server",
        ),
        (PlatformStatus(AT, "connected", "connected", [partition(log_full=0.8)], {}), None),
        (PlatformStatus(AT, "connected", "connected", [partition(log_full=0.81)], {}), "log of fleet is 81% full"),
        (PlatformStatus(AT, "unreachable: TimeoutError", "connected", [], {}), "NATS is unreachable"),
        (PlatformStatus(AT, "connected", "unreachable: X", [partition(behind=None)], {}), "PostgreSQL is unreachable"),
    ],
)
def test_what_counts_as_healthy(status, problem):
    problems = problems_of(status)
    assert document(status)["healthy"] is (problem is None)
    assert [problem in found for found in problems] == ([] if problem is None else [True])


@pytest.fixture
def scene(tmp_path):
    error = NoPlatform(tmp_path)
    return Scene(data_dir=tmp_path, environ={}, target=error, nats=error, postgres=error)


async def test_a_check_that_breaks_is_a_finding_and_the_others_are_made(scene):
    async def broken(scene):
        raise ConnectionResetError("gone")

    async def fine(scene):
        return ok("fine")

    report = await examine(scene, [("broken", broken), ("fine", fine)])
    assert [line.verdict for line in report.checks] == [Verdict.FAIL, Verdict.OK]
    assert not report.healthy


@pytest.mark.parametrize(
    ("finding", "healthy"), [(ok(""), True), (warn("", "do"), True), (skipped(""), True), (fail("", "do"), False)]
)
async def test_only_a_failure_makes_the_machine_unfit(scene, finding, healthy):
    async def check(scene):
        return finding

    assert (await examine(scene, [("check", check)])).healthy is healthy


async def test_every_check_says_something_on_a_machine_where_nothing_runs(scene):
    report = await examine(scene)
    assert [line.check for line in report.checks] == [name for name, _ in CHECKS]
    found = {line.check: line for line in report.checks}
    assert found["NATS"].verdict is Verdict.SKIPPED
    assert "drover up" in found["NATS"].remedy
    assert not [line for line in report.checks if line.verdict in (Verdict.WARN, Verdict.FAIL) and not line.remedy]
    screen = console()
    with screen.capture() as captured:
        screen.print(rendered(report))
    assert all(name in captured.get() for name, _ in CHECKS)


async def test_a_setting_that_is_misspelt_fails_with_its_right_name(scene):
    finding = await machine.configuration(
        Scene(
            data_dir=scene.data_dir,
            environ={"DROVER_LOG_LEVLE": "info"},
            target=scene.target,
            nats=scene.nats,
            postgres=scene.postgres,
        )
    )
    assert finding.verdict is Verdict.FAIL
    assert "DROVER_LOG_LEVEL" in finding.remedy


async def test_little_room_on_the_disk_is_a_warning(scene, monkeypatch):
    monkeypatch.setattr(machine, "FREE_BYTES_MIN", 2**63)
    assert (await machine.disk_space(scene)).verdict is Verdict.WARN


async def test_a_directory_that_is_a_file_fails(scene):
    path = scene.data_dir / "file"
    path.write_text("")
    there = Scene(data_dir=path, environ={}, target=scene.target, nats=scene.nats, postgres=scene.postgres)
    assert (await machine.data_directory(there)).verdict is Verdict.FAIL


async def test_a_port_that_a_stranger_holds_is_a_warning(scene, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        monkeypatch.setattr(machine, "PORT_DEFAULT", stranger.getsockname()[1])
        monkeypatch.setattr(http, "HTTP_S", 0.2)
        finding = await machine.http_port(scene)
    assert finding.verdict is Verdict.WARN
    assert "--port" in finding.remedy


@pytest.mark.parametrize(("theirs_s", "skew"), [(0.5, 0.0), (0, 0.0), (1, 0.0), (-3, 3.0), (5, -4.0)])
def test_the_time_between_question_and_answer_is_nobodys_skew(theirs_s, skew):
    assert skew_s(AT, AT + timedelta(seconds=1), AT + timedelta(seconds=theirs_s)) == skew
