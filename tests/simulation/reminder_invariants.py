"""What must hold of a partition of reminders after each command, found anew from the alarms themselves."""

from __future__ import annotations

from collections import Counter

from drover.domain.reminder import REMINDER
from drover.domain.reminder import events as e
from drover.domain.reminder.state import Reminders, minute_of

NOTICE = "notice-"
"""How page ids of notices begin in these tests."""


def check(state: Reminders, said_crowded: set[tuple[str, int]]) -> None:
    """`said_crowded`: page and minute of every `MinuteCrowded` so far."""
    _minutes(state, said_crowded)
    _queues(state)
    assert {a.user.user_id for a in state.alarms.values()} <= state.users.keys()
    assert state.delivered.keys() <= state.alarms.keys()
    assert state.once == {page_id for page_id in state.alarms if page_id.startswith(NOTICE)}
    assert state.outside <= state.in_hand.keys()
    assert state.unlisted == {user_id for user_id in state.unlisted if state.users[user_id].alarms}


def _minutes(state: Reminders, said_crowded: set[tuple[str, int]]) -> None:
    for user in state.users.values():
        own = [alarm for alarm in state.alarms.values() if alarm.user is user]
        assert user.alarms == len(own)
        held = sorted(minute_of(alarm.next_s) for alarm in own if not alarm.immediate)
        assert list(user.minutes) == held
        for minute, count in Counter(held).items():
            there = [a for a in own if not a.immediate and minute_of(a.next_s) == minute]
            said = sum((alarm.page_id, minute) in said_crowded for alarm in there)
            # All but one came when the minute was taken, and each of those was said to have found no other.
            assert said >= count - 1, (user.user_id, minute, [a.page_id for a in there])


def _queues(state: Reminders) -> None:
    waiting = [(a.wake_s, a.page_id) for a in state.alarms.values() if not a.dispatched]
    in_hand = [(a.wake_s, a.page_id) for a in state.alarms.values() if a.dispatched]
    assert state.waiting.first() == min(waiting, default=None)
    assert state.recovering.first() == min(in_hand, default=None)
    assert state.in_hand.keys() == {page_id for _, page_id in in_hand}
    for alarm in state.alarms.values():
        assert alarm.dispatched or alarm.wake_s >= alarm.next_s
        assert alarm.dispatched or not alarm.moved


def same_from_snapshot(state: Reminders) -> Reminders:
    """The state as a snapshot would give it back."""
    image = REMINDER.to_image(state)
    again = REMINDER.from_image(REMINDER.to_image(state))
    assert REMINDER.to_image(again) == image
    return again


class Sendings:
    """What providers were asked to send, by key, and what became of it."""

    def __init__(self) -> None:
        self.sent: Counter[tuple[str, int, int]] = Counter()
        self.in_hand: dict[str, e.AlarmDispatched] = {}

    def see(self, event: e.ReminderEvent) -> None:
        match event:
            case e.AlarmDispatched():
                held = self.in_hand.get(event.page_id)
                assert held is None or held.recover_at.replace(microsecond=0) <= event.at, "claimed by two at once"
                assert (event.page_id, event.sending, event.life) not in self.sent, "a key is used once"
                self.in_hand[event.page_id] = event
            case e.ClaimGivenUp():
                assert self.in_hand[event.page_id].outside, "only a sender of the users' own gives a claim up"
                self.in_hand[event.page_id].recover_at = event.recover_at
            case e.AlarmSent():
                self.sent[event.page_id, event.sending, event.life] += 1
                if event.page_id.startswith(NOTICE):
                    assert sum(page_id == event.page_id for page_id, _, _ in self.sent) == 1, "a notice was sent twice"
                assert event.sent_count == event.sending + 1
                self.in_hand.pop(event.page_id, None)
            case e.SendingFailed() | e.AlarmDeleted():
                self.in_hand.pop(event.page_id, None)
        assert all(count == 1 for count in self.sent.values())
