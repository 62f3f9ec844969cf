"""One phone's life on a virtual clock: what troubles and a slow post do to its agent."""

from __future__ import annotations

import pytest

from drover.agent.protocol import DONE, NO_CONNECTION, Answer, Heartbeat, Poll, Report
from drover.simulator.phone import Errand, Identity, Phone
from drover.simulator.script import Episode, Fault, Post
from drover.simulator.work import Plan

from .world import Book, offer

EMPTY = Answer(200, poll_after_s=1e9)
NO_NETWORK = Fault("no network", every_s=1, lasts_s=(1, 1), stops_agent=False)
CRASH = Fault("crashed", every_s=1, lasts_s=(1, 1), stops_agent=True)


def phone(*troubles: Episode, **options) -> Phone:
    return Phone(Identity("SIM00001P001D001", "P1-G1", "PC-01"), troubles=iter(troubles), **options)


def errands(phone: Phone, until: float, answer=lambda action, now: None, takes_s: float = 0.0) -> list[tuple]:
    """What left the phone, and when."""
    sent: list[tuple[float, Errand]] = []
    now = 0.0
    while phone.due_at < until:
        now = max(now, phone.due_at)
        while (errand := phone.next_errand(now)) is not None:
            sent.append((now, errand))
            usual = EMPTY if isinstance(errand.action, Poll) else DONE
            phone.answered(errand, answer(errand.action, now) or usual, now + takes_s)
    return sent


def beats(*arguments, **options) -> list[float]:
    return [at for at, errand in errands(*arguments, **options) if isinstance(errand.action, Heartbeat)]


def reports(*arguments, **options) -> list[tuple]:
    return [
        (at, errand.action.status, errand.action.progress_pct)
        for at, errand in errands(*arguments, **options)
        if isinstance(errand.action, Report)
    ]


@pytest.mark.req("DF-25")
def test_a_phone_beats_every_ten_seconds():
    assert beats(phone(), 60) == [0, 10, 20, 30, 40, 50]


def test_slow_answers_do_not_slow_its_clock():
    assert beats(phone(), 40, takes_s=3) == [0, 10, 20, 30]


def test_beats_that_were_missed_are_not_sent_in_a_burst():
    assert beats(phone(speech="pc socket"), 100, takes_s=25) == [0, 35, 70]


@pytest.mark.req("DF-13")
def test_a_phone_without_network_sends_nothing_and_comes_back_at_its_next_try():
    # It tries at 20, 25, 35 and 55 and reaches nobody; the fifth try is after the network came back.
    assert beats(phone(Episode(15, 75, NO_NETWORK)), 130) == [0, 10, 95, 105, 115, 125]


def test_a_crashed_phone_is_silent_until_it_has_rebooted():
    assert beats(phone(Episode(15, 72, CRASH)), 100) == [0, 10, 72, 82, 92]


def test_a_reboot_forgets_the_backoff():
    dark = phone(Episode(100, 150, CRASH))
    assert beats(dark, 180, lambda action, now: NO_CONNECTION) == [0, 5, 15, 35, 75, 150, 155, 165]


def test_an_answer_that_arrives_after_the_network_is_gone_is_not_heard():
    cut = phone(Episode(1, 4, NO_NETWORK), speech="pc socket")
    assert beats(cut, 20, takes_s=2) == [0, 7, 17]


def test_a_throttled_phone_waits_as_long_as_it_is_told():
    answers = iter([Answer(429, 23), DONE, Answer(429), DONE])
    told = lambda action, now: next(answers) if isinstance(action, Heartbeat) else None  # noqa: E731
    assert beats(phone(), 100, told) == [0, 23, 33, 93]


def test_troubles_that_overlap_end_with_the_last():
    both = phone(Episode(5, 40, CRASH), Episode(20, 90, CRASH))
    assert beats(both, 105) == [0, 90, 100]


def test_a_phone_knows_what_is_wrong_with_it():
    lost = phone(Episode(15, 75, NO_NETWORK), Episode(80, 90, CRASH))
    assert [fault and fault.name for fault in map(lost.fault_at, (0, 15, 74, 75, 85, 90))] == [
        None, "no network", "no network", None, "crashed", None,
    ]  # fmt: skip


def working(*troubles: Episode, watch_s: float = 100, **options) -> Phone:
    """With work in hand from the start, by socket."""
    one = phone(*troubles, player=lambda offer: Plan(watch_s=watch_s), speech="pc socket", **options)
    assert one.offered(offer(), 0)
    return one


@pytest.mark.req("DF-13", "DF-27")
def test_a_crash_loses_the_agents_memory_but_not_its_progress():
    book = Book()
    crashed = working(Episode(47, 60, CRASH), observer=book)
    told = reports(crashed, 200)
    assert told[4:7] == [(40, "running", 40), (60, "running", 40), (70, "running", 50)]
    assert told[-1] == (120, "completed", 100)
    assert book.lines == [("offered", "A", 1), ("began", "A", 1), ("resumed", "A", 1), ("completed", "A", 1)]


def test_a_crash_that_is_over_before_anybody_looked_is_a_crash_all_the_same():
    book = Book()
    reports(working(Episode(41, 42, CRASH), watch_s=1000, observer=book), 200)
    assert book.lines == [("offered", "A", 1), ("began", "A", 1), ("resumed", "A", 1)]


def test_what_comes_back_after_a_crash_is_for_nobody():
    one = working(Episode(5, 8, CRASH))
    (begin,) = [errand for errand in iter(lambda: one.next_errand(0), None) if isinstance(errand.action, Report)]
    one.answered(begin, DONE, 9)
    again = [errand for errand in iter(lambda: one.next_errand(9), None) if isinstance(errand.action, Report)]
    assert [errand.action.started_at for errand in again] == [0]  # still not begun


def test_a_phone_in_trouble_hears_no_offer_no_welcome_and_no_withdrawal():
    lost = working(Episode(5, 50, NO_NETWORK))
    reports(lost, 5)
    assert not lost.offered(offer("B"), 10)
    lost.withdrawn("A", 1, 10)
    lost.connected(10)
    assert lost.holding(10) is None
    assert lost.holding(51) == ("A", 1, 0)


def test_a_phone_that_hangs_beats_and_reports_but_takes_no_work():
    hangs = Fault("hangs", every_s=1, lasts_s=(1, 1), stops_agent=False, takes_no_offers=True)
    polling = phone(Episode(5, 60, hangs))
    sent = errands(polling, 100)
    assert [at for at, errand in sent if isinstance(errand.action, Poll)][:1] == [0.0]
    assert not [at for at, errand in sent if isinstance(errand.action, Poll) and 5 <= at < 60]
    assert [at for at, errand in sent if isinstance(errand.action, Heartbeat)] == [
        float(at) for at in range(0, 100, 10)
    ]
    busy = working(Episode(5, 300, hangs), watch_s=50)
    assert reports(busy, 100)[-1][1:] == ("completed", 100)
    assert not busy.offered(offer("B"), 110)
    assert busy.offered(offer("B"), 301)


def test_a_late_report_leaves_the_phone_long_after_it_was_written():
    late = working(watch_s=30, post=Post(late=1.0, late_s=(70, 70)))
    told = reports(late, 200)
    assert told[-1] == (100, "completed", 100)
    assert [one for one in told if one[0] > 30] == [told[-1]]
    assert beats(working(watch_s=30, post=Post(late=1.0)), 60) == [0, 10, 20, 30, 40, 50]


def test_a_late_report_that_was_lost_with_a_crash_is_still_in_the_store():
    late = working(Episode(50, 60, CRASH), watch_s=30, post=Post(late=1.0, late_s=(70, 70)))
    assert reports(late, 300)[-1] == (130, "completed", 100)


def test_a_repeated_report_is_sent_twice_and_its_second_answer_is_for_nobody():
    book = Book()
    twice = working(watch_s=30, post=Post(repeated=1.0), observer=book)
    sent = [errand for at, errand in errands(twice, 100) if isinstance(errand.action, Report) and at >= 30]
    assert [errand.repeated for errand in sent] == [False, True]
    assert sent[0].action == sent[1].action
    assert book.ends() == [("completed", "A", 1)]
