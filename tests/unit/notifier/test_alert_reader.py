"""Which lines of which commits are told of, and how much of them."""

from __future__ import annotations

from datetime import UTC, datetime

from drover.domain.alerts import AlertAcknowledged, AlertRaised, AlertResolved, AlertSnoozed, AlertSnoozeEnded
from drover.domain.fleet import FLEET
from drover.domain.fleet.events import JobCreated, JobPaused
from drover.domain.identity import IDENTITY
from drover.domain.reminder import REMINDER
from drover.eventlog.codec import Codec
from drover.eventlog.log import StoredCommit
from drover.notifier.alert_reader import notices
from drover.notifier.checkpoint import Checkpoint
from drover.notifier.notice import Notice

NOON = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


def stored(decider, *events, payload=b""):
    for number, event in enumerate(events, 1):
        event.n, event.at = number, NOON
    return StoredCommit(1, "c", 1, NOON, Codec.of(decider).encode(events) + payload)


def read(decider, *events, payload=b""):
    return list(notices(decider.context, stored(decider, *events, payload=payload)))


def test_alerts_are_found_among_everything_else():
    named = JobCreated(
        job_id="j", title='"AlertRaised"', target_url="u", script_type="s", duration_min_pct=1, duration_max_pct=2,
        prob_like=0, prob_comment=0, prob_playlist=0, is_active=True, base_reward=1.0, target=None,
    )  # fmt: skip
    found = read(
        FLEET,
        named,
        AlertRaised("a1", "poison_job", "j", "Text", {"rule": "x"}),
        JobPaused(job_id="j", reason="poison", rule=None),
        AlertResolved("a0", "poison_job", "i", "resumed"),
    )
    assert [(one.alert_id, one.phase, one.at) for one in found] == [("a1", "raised", NOON), ("a0", "resolved", NOON)]
    assert found[0].details == {"rule": "x"} and found[0].severity == "critical"


def test_a_line_that_cannot_be_read_hides_no_other():
    broken = b'{"type":"AlertRaisedFromTheFuture","n":2}\n'
    assert [one.alert_id for one in read(FLEET, AlertRaised("a1", "k", "s", "m", {}), payload=broken)] == ["a1"]


def test_of_private_contexts_ids_only_and_of_reminders_nothing_that_users_wrote():
    (one,) = read(IDENTITY, AlertRaised("a", "refresh_token_reused", "s", "m", {"account_id": "u", "email": "x@y"}))
    assert one.details == {"account_id": "u"}
    (one,) = read(REMINDER, AlertRaised("a", "push_failing", "provider", "m", {"code": "c", "title": "diary"}))
    assert one.details == {"code": "c"}


def test_the_key_of_a_strange_id_is_still_one_word():
    strange = Notice(context="fleet", alert_id="a.b >*", phase="raised", kind="k", subject="s", at=NOON)
    assert len(strange.key.split(".")) == 3 and " " not in strange.key and ">" not in strange.key
    assert strange.key != Notice(context="fleet", alert_id="a.b", phase="raised", kind="k", subject="s", at=NOON).key


def test_a_position_stays_before_what_is_not_settled_and_jumps_when_it_is():
    checkpoint = Checkpoint(4)
    first, other, later = checkpoint.opened(6), checkpoint.opened(6), checkpoint.opened(8)
    checkpoint.read(9)
    assert checkpoint.position == 5
    later()
    first()
    assert checkpoint.position == 5
    other()
    assert checkpoint.position == 9


def test_snoozed_alerts_are_not_told_and_critical_ones_come_back():
    found = read(
        FLEET,
        AlertRaised("a1", "poison_job", "j", "Text", {}, snoozed_until=NOON),
        AlertAcknowledged("a1", "poison_job", "j", "mine"),
        AlertSnoozed("a1", "poison_job", "j", NOON),
        AlertSnoozeEnded("a1", "poison_job", "j", "time", is_open=True),
        AlertSnoozeEnded("a1", "poison_job", "j", "person", is_open=True),
        AlertSnoozeEnded("a1", "poison_job", "j", "time", is_open=False),
        AlertSnoozeEnded("a2", "needs_reset", "d", "time", is_open=True),
    )
    assert [(one.alert_id, one.phase, one.severity) for one in found] == [("a1", "reminded", "critical")]
    assert found[0].message == "poison job: j"
