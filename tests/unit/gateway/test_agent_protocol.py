"""The words of docs/agents.md: every frame as it is written there, and nothing that is not."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from drover.domain.fleet import FLEET
from drover.domain.fleet.events import (
    AttemptCancelled,
    AttemptCreated,
    AttemptRolledBack,
    AttemptSent,
    AttemptStarted,
    AttemptSucceeded,
    DeviceRegistered,
    JobCreated,
    PcRegistered,
)
from drover.domain.fleet.state import Fleet
from drover.gateway.agent_greeting import verdict
from drover.gateway.agent_protocol import (
    REF_MAX,
    BadFrame,
    Beat,
    Bye,
    Done,
    Fault,
    Hello,
    Holding,
    Judged,
    KnownDevice,
    Offer,
    Over,
    Refused,
    Report,
    Verdict,
    Welcome,
    Withdrawn,
    decode,
    encode,
)
from drover.gateway.agent_registry import Scope
from drover.testing.scenario import NOON, Scenario

DOCS = Path(__file__).parents[3] / "docs" / "agents.md"

HEARTBEAT = '{"type": "heartbeat"}'
REPORT = '{"type": "report", "ref": 17, "assignment_id": "A", "run": 3, "status": "running", "progress_pct": 40}'


# From the agent


def test_a_hello_says_whom_it_speaks_for_and_what_it_has_in_hand():
    said = '{"type": "hello", "serial_number": "S", "holding": [{"assignment_id": "A", "run": 3, "progress_pct": 40}]}'
    assert decode(said) == Hello(serial_number="S", holding=(Holding("A", 3, 40),))
    assert decode('{"type": "hello", "pc_id": "PC-01"}') == Hello(pc_id="PC-01")


def test_a_heartbeat_has_the_claims_of_http_and_may_leave_out_whose_it_is():
    assert isinstance(decode(HEARTBEAT), Beat)
    beat = decode('{"type": "heartbeat", "serial_number": "S", "status": "busy", "battery_pct": 20}')
    assert isinstance(beat, Beat)
    assert (beat.serial_number, beat.claims()) == ("S", {"status": "busy", "battery_pct": 20})


def test_a_report_has_the_fields_of_http_and_a_number_of_the_agents_own():
    report = decode(REPORT)
    assert isinstance(report, Report)
    assert (report.ref, report.assignment_id, report.run, report.status) == (17, "A", 3, "running")
    assert report.progress_pct == 40


@pytest.mark.parametrize(
    "said",
    [
        "",
        "nonsense",
        "null",
        "1",
        "[]",
        "{}",
        '{"type": "offer"}',
        '{"type": 1}',
        HEARTBEAT + HEARTBEAT,
        HEARTBEAT[:-1],
        '{"type": "heartbeat", "status": "asleep"}',
        '{"type": "heartbeat", "battery_pct": 101}',
        '{"type": "heartbeat", "more": 1}',
        '{"type": "heartbeat", "serial_number": "\\ud800"}',
        '{"type": "hello", "serial_number": 1}',
        '{"type": "hello", "holding": [{"assignment_id": "A", "run": -1}]}',
        '{"type": "hello", "holding": [' + ",".join(['{"assignment_id": "A", "run": 1}'] * 257) + "]}",
        '{"type": "hello", "holding": [{"assignment_id": "' + "A" * 65 + '", "run": 1}]}',
        '{"type": "report", "ref": -1, "assignment_id": "A", "status": "running"}',
        f'{{"type": "report", "ref": {REF_MAX + 1}, "assignment_id": "A", "status": "running"}}',
        '{"type": "report", "ref": 1.5, "assignment_id": "A", "status": "running"}',
        '{"type": "report", "assignment_id": "A", "status": "running"}',
        '{"a":' * 100_000,
        '{"type": ' + "9" * 10_000 + "}",
    ],
)
def test_what_is_not_in_the_protocol_is_not_understood_and_breaks_nothing(said):
    bad = decode(said)
    assert isinstance(bad, BadFrame)
    assert bad.ref is None
    assert 0 < len(bad.message) <= 300


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("run", "three"),
        ("status", "asleep"),
        ("progress_pct", 101),
        ("more", 1),
        ("error_message", "a\0b"),
        ("assignment_id", "A" * 65),
    ],
)
def test_a_bad_report_with_a_good_number_can_be_answered(field, value):
    bad = decode(msgspec.json.encode(msgspec.json.decode(REPORT) | {field: value}).decode())
    assert isinstance(bad, BadFrame)
    assert bad.ref == 17


def test_a_text_that_only_speaks_of_nul_is_no_nul():
    said = msgspec.json.encode(msgspec.json.decode(REPORT) | {"error_message": r"\u0000"}).decode()
    assert isinstance(decode(said), Report)


# From the server


@pytest.mark.parametrize(
    ("frame", "written"),
    [
        (
            Welcome([KnownDevice("D", "S")], [Judged("A", 3, Verdict.CONTINUE)]),
            {
                "type": "welcome",
                "devices": [{"id": "D", "serial_number": "S"}],
                "heartbeat_every_s": 10,
                "holding": [{"assignment_id": "A", "run": 3, "verdict": "continue"}],
            },
        ),
        (Offer({"id": "A", "jobs": {}}), {"type": "offer", "assignment": {"id": "A", "jobs": {}}}),
        (
            Withdrawn("A", 3, Over.TIMED_OUT),
            {"type": "withdrawn", "assignment_id": "A", "run": 3, "reason": "timed_out"},
        ),
        (Done(17), {"type": "done", "ref": 17}),
        (
            Refused(17, 409, "STALE_ATTEMPT", "over", {"run": 3}),
            {
                "type": "refused",
                "ref": 17,
                "status": 409,
                "code": "STALE_ATTEMPT",
                "message": "over",
                "details": {"run": 3},
            },
        ),
        (Bye("The server restarts"), {"type": "bye", "reason": "The server restarts", "reconnect_after_s": 1}),
        (Fault("BAD_FRAME", "what?"), {"type": "error", "code": "BAD_FRAME", "message": "what?"}),
    ],
)
def test_the_server_writes_its_frames_as_the_docs_have_them(frame, written):
    assert msgspec.json.decode(encode(frame)) == written
    # The docs name every field that has no shape of its own.
    documented = next(line for line in DOCS.read_text().splitlines() if f'"type":"{written["type"]}"' in _dense(line))
    following = DOCS.read_text().split(documented)[1].split("```")[0] if written["type"] == "welcome" else ""
    for field in written:
        assert f'"{field}"' in documented + following


def _dense(text: str) -> str:
    return re.sub(r"\s", "", text)


# What is still so of what an agent holds

JOB = JobCreated("J", None, "https://youtu.be/1", "youtube_watch", 30, 90, 50, 30, 10, True, 10, None)


def attempt(kind, run, *fields):
    return kind("A", "J", "D", run, 1, *fields)


def fleet(*events) -> Fleet:
    known = (PcRegistered("PC-01", 20), DeviceRegistered("D", "SERIAL0001", "P1-G1", "PC-01", []), JOB)
    return Scenario(FLEET).given(*known, *events).state


CREATED = attempt(AttemptCreated, 1, "PC-01")
SENT = attempt(AttemptSent, 1, NOON)
STARTED = attempt(AttemptStarted, 1, 0, None, NOON)
DONE = attempt(AttemptSucceeded, 1, NOON, NOON, 60, True, False, False, None)


@pytest.mark.req("DF-13")
@pytest.mark.parametrize(
    ("events", "run", "expected"),
    [
        ([CREATED], 1, Verdict.CONTINUE),  # the agent has it, so the roster is behind
        ([CREATED, SENT], 1, Verdict.CONTINUE),
        ([CREATED, SENT, STARTED], 1, Verdict.CONTINUE),
        ([CREATED, SENT, STARTED], 0, Verdict.DROP),
        ([CREATED, SENT, STARTED], 2, None),
        ([CREATED, SENT, STARTED, DONE], 1, Verdict.DROP),
        ([CREATED, SENT, STARTED, DONE], 2, None),
        ([CREATED, SENT, STARTED, attempt(AttemptRolledBack, 1, "silent")], 1, Verdict.DROP),
        ([CREATED, SENT, attempt(AttemptCancelled, 1, "paused")], 1, Verdict.DROP),
        ([], 1, None),
    ],
)
def test_what_an_agent_holds_goes_on_if_it_is_the_current_run(events, run, expected):
    for scope in (Scope(device_id="D"), Scope(pc_id="PC-01")):
        assert verdict(fleet(*events), scope, Holding("A", run)) is expected


def test_what_another_device_or_pc_has_does_not_go_on_here():
    for scope in (Scope(device_id="E"), Scope(pc_id="PC-02")):
        assert verdict(fleet(CREATED, SENT), scope, Holding("A", 1)) is Verdict.DROP
