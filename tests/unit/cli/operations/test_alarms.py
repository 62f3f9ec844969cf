"""`drover alarms`: what a list says in a narrow terminal, and whose alarm is meant."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from drover.cli.exits import Exit


def at(**ago):
    return (datetime.now(UTC) + timedelta(**ago)).isoformat()


def test_an_alarm_that_is_sent_again_is_retrying_and_due_at_its_next_try(double, drover, narrow):
    narrow(80)
    row = {
        "page_id": "cleanup:5ea63ed0-6f9a-8cea-9d80-08064e32e132",
        "user_id": "user_demo0010",
        "state": "upcoming",
        "next_alarm_time": at(minutes=-5),
        "retry_at": at(minutes=4.5),
        "sent_count": 2,
        "last_error": "http_503",
    }
    planned = row | {"next_alarm_time": at(minutes=9.5), "retry_at": None, "last_error": None}
    double.answer("/api/reminders", {"items": [row, planned], "next": None})
    head, retrying, upcoming = drover("alarms", "list")[1].splitlines()
    assert head.split() == ["page", "user", "state", "due", "send", "no.", "last", "error"]
    assert "…" in retrying, "the page is cut, which is longest"
    for word in ("user_demo0010", "retrying", "in 4 min", "http_503"):
        assert word in retrying
    assert "upcoming" in upcoming and "in 9 min" in upcoming


def test_an_alarm_that_could_be_meant_is_named_in_a_sentence(double, drover):
    double.answer("/rest/v1/alarm", [], [], [{"page_id": "page-01", "user_id": "kim"}])
    code, _, err = drover("alarms", "show", "page-02")
    assert code == Exit.NOT_FOUND
    assert "Did you mean the alarm of kim (page-01)?" in err
