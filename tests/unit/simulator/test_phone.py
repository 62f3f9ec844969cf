"""One phone's life on a virtual clock."""

from __future__ import annotations

from drover.simulator.patience import NO_CONNECTION, Answer
from drover.simulator.phone import Heartbeat, Identity, Phone
from drover.simulator.script import Episode, Fault

OK = Answer(204)
NO_NETWORK = Fault("no network", every_s=1, lasts_s=(1, 1), stops_agent=False)
CRASH = Fault("crashed", every_s=1, lasts_s=(1, 1), stops_agent=True)


def phone(*troubles: Episode) -> Phone:
    return Phone(Identity("SIM00001P001D001", "P1-G1", "PC-01"), troubles=iter(troubles))


def live(phone: Phone, until: float, answer=lambda now: OK, takes_s: float = 0.0) -> list[float]:
    """The times of its heartbeats."""
    sent: list[float] = []
    while phone.due_at < until:
        now = phone.due_at
        if (action := phone.next_action(now)) is not None:
            assert action == Heartbeat("online")
            sent.append(now)
            phone.answered(answer(now), now + takes_s)
    return sent


def test_a_phone_beats_every_ten_seconds():
    assert live(phone(), 60) == [0, 10, 20, 30, 40, 50]


def test_slow_answers_do_not_slow_its_clock():
    assert live(phone(), 40, takes_s=3) == [0, 10, 20, 30]


def test_beats_that_were_missed_are_not_sent_in_a_burst():
    assert live(phone(), 100, takes_s=25) == [0, 35, 70]


def test_a_phone_without_network_sends_nothing_and_comes_back_at_its_next_try():
    # It tries at 20, 25, 35 and 55 and reaches nobody; the fifth try is after the network came back.
    lost = phone(Episode(15, 75, NO_NETWORK))
    assert live(lost, 130) == [0, 10, 95, 105, 115, 125]


def test_a_crashed_phone_is_silent_until_it_has_rebooted():
    assert live(phone(Episode(15, 72, CRASH)), 100) == [0, 10, 72, 82, 92]


def test_a_reboot_forgets_the_backoff():
    dark = phone(Episode(100, 150, CRASH))
    sent = live(dark, 180, answer=lambda now: NO_CONNECTION)
    assert sent == [0, 5, 15, 35, 75, 150, 155, 165]


def test_an_answer_that_arrives_after_the_network_is_gone_is_not_heard():
    cut = phone(Episode(1, 4, NO_NETWORK))
    assert live(cut, 20, takes_s=2) == [0, 7, 17]


def test_a_throttled_phone_waits_as_long_as_it_is_told():
    answers = iter([Answer(429, 23), OK, Answer(429), OK])
    assert live(phone(), 100, answer=lambda now: next(answers)) == [0, 23, 33, 93]


def test_troubles_that_overlap_end_with_the_last():
    both = phone(Episode(5, 40, CRASH), Episode(20, 90, CRASH))
    assert live(both, 105) == [0, 90, 100]


def test_a_phone_knows_what_is_wrong_with_it():
    lost = phone(Episode(15, 75, NO_NETWORK), Episode(80, 90, CRASH))
    assert [fault and fault.name for fault in map(lost.fault_at, (0, 15, 74, 75, 85, 90))] == [
        None, "no network", "no network", None, "crashed", None,
    ]  # fmt: skip
