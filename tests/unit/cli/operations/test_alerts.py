"""`drover alerts`: what a list says of alerts, and how people acknowledge and snooze them."""

from __future__ import annotations

import json

import pytest

from drover.cli.exits import Exit

ID = "5f0c1d2e-8a9b-8000-8000-000000000001"
ALERT = {"id": ID, "context": "fleet", "kind": "needs_reset", "subject": "R58M00001"}
UNTIL = "2040-01-31T09:00:00+00:00"


@pytest.fixture
def platform(double):
    double.answers["/rest/v1/alerts"] = [(200, [], {}), (200, [ALERT], {})]
    return double


def posted(platform):
    return [(url, json.loads(body) if body else None) for method, url, _, body in platform.requests if method == "POST"]


@pytest.mark.parametrize(
    ("what", "options", "body", "says"),
    [
        ("acknowledge", ("--note", "mine"), {"note": "mine"}, f"Acknowledged needs_reset ({ID}).\n"),
        ("snooze", ("--until", UNTIL), {"until": UNTIL, "note": ""}, f"Snoozed needs_reset ({ID}) until 2040-01-31 "),
        ("end-snooze", (), None, f"Ended the snooze of needs_reset ({ID}).\n"),
    ],
)
def test_an_alert_is_handled_in_its_context(what, options, body, says, platform, drover):
    platform.answer(f"/api/alerts/fleet/{ID}/{what}", b"", status=204)
    code, out, err = drover("alerts", what, ID[:13], *options)
    assert (code, err) == (Exit.OK, "")
    assert out.startswith(says)
    assert posted(platform) == [(f"/api/alerts/fleet/{ID}/{what}", body)]
    searched = [url for method, url, _, _ in platform.requests if method == "GET"]
    assert "resolved_at=is.null" in searched[-1], "beginnings are searched among open alerts only"


def test_a_program_reads_the_alert_as_it_is_now(platform, drover):
    platform.answer(f"/api/alerts/fleet/{ID}/acknowledge", b"", status=204)
    platform.answers["/rest/v1/alerts"].append((200, [ALERT | {"acknowledged_note": "mine"}], {}))
    code, out, _ = drover("alerts", "acknowledge", ID[:13], "--json")
    assert code == Exit.OK
    assert [row["acknowledged_note"] for row in json.loads(out)] == ["mine"]


@pytest.mark.req("SE-02")
def test_a_key_of_no_person_is_told_whose_key_is_needed(platform, drover):
    refusal = {"code": "42501", "message": "permission denied for table alerts"}
    platform.answer(f"/api/alerts/fleet/{ID}/acknowledge", refusal, status=403)
    code, _, err = drover("alerts", "acknowledge", ID)
    assert code == Exit.FAILED
    assert "permission denied for table alerts. Only operators and admins handle alerts" in err
    assert "Sign in with `drover token`" in err


def test_an_alert_that_is_resolved_is_told_in_the_words_of_the_platform(platform, drover):
    gone = {"error": "NOT_FOUND", "message": "No open alert has this id; it may be resolved already"}
    platform.answer("/rest/v1/alerts", [ALERT])
    platform.answer(f"/api/alerts/fleet/{ID}/end-snooze", gone, status=404)
    code, _, err = drover("alerts", "end-snooze", ID)
    assert code == Exit.NOT_FOUND
    assert "it may be resolved already" in err


@pytest.mark.parametrize("options", [(), ("--until", "2020-01-31T09:00")])
def test_a_snooze_needs_a_time_to_come(options, platform, drover):
    code, _, err = drover("alerts", "snooze", ID, *options)
    assert code == Exit.USAGE
    assert "--until" in err
    assert platform.requests == []


def test_a_list_says_who_takes_care_and_until_when_it_is_quiet(double, drover):
    handled = {
        "acknowledged_at": "2026-01-31T08:00:00Z",
        "acknowledged_by": "user:kim",
        "acknowledged_note": "On \x1b[2Jmy way",
        "snoozed_until": UNTIL,
        "snoozed_by": None,
        "snooze_note": None,
    }
    row = ALERT | {"message": "R58M00001 needs a reset", "raised_at": "2026-01-31T07:00:00Z", "resolved_at": None}
    double.answer("/api/alerts", {"items": [row | handled, row | dict.fromkeys(handled)], "next": None})
    head, message, acknowledged, snoozed, *plain = drover("alerts", "list")[1].splitlines()
    assert head.startswith("open ")
    assert head.endswith(f"needs_reset  {ID[:13]}"), "with the id by which it is handled"
    assert message.strip() == "R58M00001 needs a reset"
    assert acknowledged.startswith("  Acknowledged ")
    assert " ago by user:kim: On " in acknowledged
    assert "\x1b[2J" not in acknowledged
    assert snoozed.startswith("  Snoozed until 2040-01-31 ")
    assert len(plain) == 2


def test_a_long_message_goes_on_under_its_beginning(double, drover, narrow):
    narrow(60)
    unhandled = dict.fromkeys(
        ("acknowledged_at", "acknowledged_by", "acknowledged_note", "snoozed_until", "snoozed_by", "snooze_note")
    )
    said = {"message": "word " * 20, "raised_at": "2026-01-31T07:00:00Z", "resolved_at": None}
    double.answer("/api/alerts", {"items": [ALERT | said | unhandled], "next": None})
    _, *message = drover("alerts", "list")[1].splitlines()
    assert len(message) == 2
    assert all(line.startswith("  word") for line in message)
