"""Each alert is told once when it is raised and once when it is over, whatever receiver, ledger and processes do."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import wraps
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from drover.domain.alerts import AlertRaised, AlertSnoozed, AlertSnoozeEnded
from drover.notifier import delivery_queue
from drover.notifier.delivery_queue import ASKED_MAX_S
from drover.notifier.notice import Delivered, Failed, Uncertain
from drover.testing.lease import LocalLease
from drover.testing.virtual_time import run_virtually
from drover.testing.waiting import eventually
from tests.unit.notifier.world import QUIET_S, TIMEOUT_S, MemoryLedger, Scripted, World, key, quiet

DOWN = Failed("http_503")


def virtually(test):
    @wraps(test)
    def run(*args, **kwargs):
        return run_virtually(test(*args, **kwargs))

    return run


async def never():
    await asyncio.Event().wait()


@virtually
async def test_an_alert_is_told_once_and_once_more_when_it_is_over():
    world = World()
    async with world.running():
        await world.raised("a1")
        await quiet()
        await world.resolved("a1")
        await quiet()
    (receiver,) = world.receivers
    assert receiver.keys == [key("a1"), key("a1", "resolved")]
    over = receiver.notices[1]
    assert over.message == "Text of a1" and over.reason == "resumed"
    assert over.raised_at == receiver.notices[0].at, "it refers to the first message"


@virtually
async def test_every_receiver_is_told_and_one_that_is_away_holds_up_no_other():
    slack, webhook = Scripted(*[DOWN] * 5), Scripted(name="webhook")
    world = World(slack, webhook)
    async with world.running():
        await world.raised("a1", "a2")
        await asyncio.sleep(0.1)
        assert webhook.keys == [key("a1"), key("a2")]
        await quiet()
    assert sorted(set(slack.keys)) == [key("a1"), key("a2")]


@virtually
async def test_one_that_is_away_for_long_holds_up_no_other(monkeypatch):
    monkeypatch.setattr(delivery_queue, "WAITING_MAX", 2)
    slack, webhook = Scripted(*[DOWN] * 8), Scripted(name="webhook")
    world = World(slack, webhook)
    wanted = [key(f"a{number}") for number in range(9)]
    async with world.running():
        for number in range(9):
            await world.raised(f"a{number}")
        await asyncio.sleep(0.1)
        assert webhook.keys == wanted
        assert world.ledger.positions["fleet"] == 0, "slack has been told nothing"
        await quiet()
    assert set(slack.keys) == set(wanted)
    assert webhook.keys == wanted, "each once"
    assert world.ledger.positions == {"fleet": 9}


@virtually
async def test_what_was_raised_before_anybody_wanted_to_be_told_is_not_sent():
    world = World()
    await world.raised("old")
    async with world.running():
        await quiet()
        await world.resolved("old")
        await world.raised("new")
        await quiet()
    assert world.receivers[0].keys == [key("new")]


@virtually
async def test_a_process_that_is_started_again_goes_on_where_the_last_one_was():
    world = World()
    async with world.running():
        await world.raised("a1")
        await quiet()
    await world.raised("a2")
    async with world.running():
        await quiet()
    assert world.receivers[0].keys == [key("a1"), key("a2")]
    assert world.ledger.positions == {"fleet": 2}


@virtually
async def test_after_a_crash_the_ledger_knows_what_the_position_does_not():
    world = World()
    async with world.running():
        await world.raised("a1", "a2")
        await quiet()
    world.ledger.positions["fleet"] = 0  # never saved
    async with world.running():
        await quiet()
    assert world.receivers[0].keys == [key("a1"), key("a2")]


@virtually
async def test_a_crash_in_the_middle_of_a_sending_sends_it_again_and_says_so():
    world = World(Scripted(never))
    async with world.running() as first:
        await world.raised("a1")
        await eventually(lambda: world.receivers[0].calls)
        world.kill(first)
        died_at = asyncio.get_running_loop().time()
        async with world.running():
            await quiet()
    (_, repeat, _), (again, repeated, second) = world.receivers[0].calls
    assert (again, repeat, repeated) == (key("a1"), False, True)
    assert second - died_at > TIMEOUT_S, "not while the other process may still be at it"
    assert world.ledger.state(key("a1")) == "sent"


@virtually
async def test_a_slow_answer_counts_though_the_process_is_being_stopped():
    async def slow():
        await asyncio.sleep(TIMEOUT_S - 1)
        return Delivered()

    world = World(Scripted(slow))
    async with world.running():
        await world.raised("a1")
        await eventually(lambda: world.receivers[0].calls)
    assert world.ledger.state(key("a1")) == "sent"
    async with world.running():
        await quiet()
    assert world.receivers[0].keys == [key("a1")]


@virtually
async def test_no_answer_in_time_is_tried_again_as_a_repeat():
    world = World(Scripted(never, Uncertain("connection_lost")))
    async with world.running():
        await world.raised("a1")
        await quiet()
    assert [repeat for _, repeat, _ in world.receivers[0].calls] == [False, True, True]


@virtually
async def test_a_receiver_that_says_no_has_not_got_it_so_the_next_try_is_no_repeat():
    world = World(Scripted(DOWN, Failed("connect_failed")))
    async with world.running():
        await world.raised("a1")
        await quiet()
    assert [repeat for _, repeat, _ in world.receivers[0].calls] == [False, False, False]
    assert world.ledger.state(key("a1")) == "sent"


@virtually
async def test_pauses_double_up_to_a_bound_and_are_short_again_after_a_success():
    world = World(Scripted(*[DOWN] * 12))
    async with world.running():
        await world.raised("a1")
        await quiet(QUIET_S * 2)
        world.receivers[0].script = [DOWN]
        await world.raised("a2")
        await quiet()
    seconds = world.receivers[0].seconds
    pauses = [round(later - sooner) for sooner, later in pairwise(seconds)]
    assert pauses[:12] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]
    assert pauses[-1] == 1


@virtually
async def test_who_asks_to_be_left_alone_is():
    world = World(Scripted(Failed("http_429", retry_after_s=90)))
    async with world.running():
        await world.raised("a1")
        await quiet()
    first, second = world.receivers[0].seconds
    assert round(second - first) == 90


@virtually
async def test_nobody_is_left_alone_for_ever():
    world = World(Scripted(Failed("http_429", retry_after_s=10**9)))
    async with world.running():
        await world.raised("a1")
        await quiet(2 * ASKED_MAX_S)
    first, second = world.receivers[0].seconds
    assert round(second - first) == ASKED_MAX_S


@virtually
async def test_messages_keep_the_pace_that_their_receiver_asks_for():
    world = World(Scripted(pace_s=1.1))
    async with world.running():
        await world.raised(*(f"a{number}" for number in range(5)))
        await quiet()
    seconds = world.receivers[0].seconds
    assert all(later - sooner > 1.09 for sooner, later in pairwise(seconds))


@virtually
async def test_what_is_refused_for_good_is_dropped_and_its_end_is_not_told():
    world = World(Scripted(Failed("http_400", permanent=True)))
    with capture_logs() as logs:
        async with world.running():
            await world.raised("bad", "good")
            await world.resolved("bad", "good")
            await quiet()
    assert world.receivers[0].keys == [key("bad"), key("good"), key("good", "resolved")]
    assert world.ledger.state(key("bad")) == "dropped"
    assert [one["key"] for one in logs if one["event"] == "notice_dropped"] == [key("bad")]


@virtually
async def test_one_notice_that_its_receiver_chokes_on_holds_up_no_other():
    class Choking(Scripted):
        async def send(self, notice, *, repeat):
            await super().send(notice, repeat=repeat)
            return DOWN if notice.alert_id == "choke" else Delivered()

    world = World(Choking())
    async with world.running():
        await world.raised("choke", "a2", "a3")
        await quiet()
        await world.raised("a4")
        await quiet()
    for id_ in ("a2", "a3", "a4"):
        assert world.ledger.state(key(id_)) == "sent"
    assert world.ledger.state(key("choke")) == "failed"


@virtually
async def test_the_end_is_told_after_the_beginning_however_long_that_takes():
    world = World(Scripted(*[DOWN] * 4))
    async with world.running():
        await world.raised("a1")
        await world.resolved("a1")
        await quiet()
    assert world.receivers[0].keys == [key("a1")] * 5 + [key("a1", "resolved")]


@virtually
async def test_what_could_not_be_told_for_a_day_is_not_news():
    world = World(Scripted(*[DOWN] * 10_000))
    async with world.running():
        await world.raised("a1")
        await quiet(2 * 24 * 3600)
        world.receivers[0].script = []
        await world.raised("a2")
        await quiet()
    assert world.ledger.state(key("a1")) == "dropped"
    assert world.ledger.state(key("a2")) == "sent"


@virtually
async def test_a_notifier_that_was_off_for_a_month_does_not_send_a_month_of_alerts():
    world = World()
    async with world.running():
        await world.raised("a1")
        await quiet()
    before = world.now
    await world.raised("a2", at=before + timedelta(hours=1))
    await asyncio.sleep(30 * 24 * 3600)
    await world.raised("a3")
    async with world.running():
        await quiet()
    assert world.receivers[0].keys == [key("a1"), key("a3")]


@virtually
async def test_what_was_sent_is_not_sent_again_because_the_ledger_is_away():
    world = World()

    async def then_away():
        world.ledger.away = True
        return Delivered()

    world.receivers[0].script = [then_away]
    async with world.running():
        await world.raised("a1")
        await quiet()
        assert world.ledger.state(key("a1")) == "begun"
        world.ledger.away = False
        await quiet()
    assert world.receivers[0].keys == [key("a1")]
    assert world.ledger.state(key("a1")) == "sent"


@virtually
async def test_nothing_is_sent_that_could_not_be_written_down_first():
    world = World()
    async with world.running():
        world.ledger.away = True
        await world.raised("a1")
        await quiet()
        assert world.receivers[0].calls == []
        world.ledger.away = False
        await quiet()
    assert world.receivers[0].keys == [key("a1")]


@virtually
async def test_of_two_processes_one_tells_and_the_other_takes_over():
    world = World()
    lease = LocalLease(world.lock)
    async with world.running(lease=lease), world.running():
        await world.raised("a1")
        await quiet()
        lease.lose()
        await world.raised("a2")
        await quiet()
    assert world.receivers[0].keys == [key("a1"), key("a2")]


@virtually
async def test_who_lost_its_lease_in_the_middle_of_a_sending_and_its_successor_tell_once():
    async def slow():
        await asyncio.sleep(TIMEOUT_S - 1)
        return Delivered()

    world = World(Scripted(slow))
    lease = LocalLease(world.lock)
    async with world.running(lease=lease), world.running():
        await world.raised("a1")
        await eventually(lambda: world.receivers[0].calls)
        lease.lose()
        await lease.release()  # the key lapsed: the other one has it at once
        await quiet()
    assert world.receivers[0].keys == [key("a1")]
    assert world.ledger.state(key("a1")) == "sent"


@virtually
async def test_only_those_who_want_to_hear_of_warnings_do():
    world = World()
    async with world.running(critical_only=True):
        await world.raised("minor", kind="rate_limited")
        await world.raised("major", kind="host_failing")
        await world.raised("unheard-of", kind="something_new")
        await world.resolved("minor", kind="rate_limited")
        await quiet()
    assert world.receivers[0].keys == [key("major"), key("unheard-of")]


@virtually
async def test_while_a_context_is_held_nobody_is_told_and_what_was_imported_never_is():
    world = World()
    await world.raised("imported")
    world.ledger.positions["fleet"] = 0
    async with world.running(held={"fleet"}):
        await world.raised("meanwhile")
        await quiet()
        assert world.receivers[0].calls == []
    async with world.running():
        await quiet()
    assert world.receivers[0].keys == [key("meanwhile")], "it is real, and not an hour old"


@virtually
async def test_a_log_that_was_restored_from_an_older_backup_is_followed_from_its_end():
    world = World()
    world.ledger.positions["fleet"] = 99
    await world.raised("a1")
    async with world.running():
        await world.raised("a2")
        await quiet()
    assert world.receivers[0].keys == [key("a2")]


@virtually
@pytest.mark.req("YR-14")
async def test_a_log_with_another_commit_at_the_settled_position_is_followed_from_its_end():
    world = World()
    await world.raised("a1")
    async with world.running():
        await quiet()
    world.ledger.commits["fleet"] = "of-another-log"
    await world.raised("a2")
    async with world.running():
        await world.raised("a3")
        await quiet()
    assert world.receivers[0].keys == [key("a3")], "a1 is from before the notifier, a2 is of another history"


@virtually
@pytest.mark.req("YR-14")
async def test_a_position_of_an_older_program_has_no_commit_and_is_believed():
    world = World()
    await world.raised("a1")
    world.ledger.positions["fleet"] = 0
    async with world.running():
        await quiet()
    world.ledger.commits["fleet"] = ""
    await world.raised("a2")
    async with world.running():
        await quiet()
    assert world.receivers[0].keys == [key("a1"), key("a2")]


@virtually
async def test_a_flood_waits_in_the_log_and_not_in_memory(monkeypatch):
    monkeypatch.setattr(delivery_queue, "WAITING_MAX", 3)
    world = World(Scripted(*[DOWN] * 3))
    async with world.running() as process:
        for number in range(20):
            await world.raised(f"a{number}")
        await asyncio.sleep(0.5)
        checkpoint, _ = process._checkpoints["fleet"]  # of critical alerts, and of warnings
        assert checkpoint.position == 0
        assert len(checkpoint._open) <= 4
        await quiet(QUIET_S * 4)
    assert sorted(set(world.receivers[0].keys)) == sorted(key(f"a{number}") for number in range(20))
    assert world.ledger.positions == {"fleet": 20}


@virtually
async def test_a_receiver_that_raises_is_a_fault_and_no_end():
    async def broken():
        raise RuntimeError("a bug")

    world = World(Scripted(broken))
    async with world.running():
        await world.raised("a1")
        await quiet()
    assert world.ledger.state(key("a1")) == "sent"


answers = st.sampled_from(
    [Delivered(), Delivered(), DOWN, Failed("http_429", retry_after_s=30), Uncertain("lost"), never]
)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    script=st.lists(answers, max_size=12),
    steps=st.lists(
        st.sampled_from(["raise", "raise", "resolve", "restart", "kill", "wait", "ledger away", "ledger back"]),
        min_size=4,
        max_size=14,
    ),
)
def test_whatever_happens_none_is_lost_none_is_told_out_of_turn_and_a_repeat_says_that_it_is_one(script, steps):
    run_virtually(anything(script, steps, kind="poison_job"))
    run_virtually(anything(script, steps, kind="needs_reset"))


async def anything(script, steps, *, kind):
    """With alerts of this kind. Warnings are folded."""
    ledger = MemoryLedger()
    world = World(Scripted(*script, folds=True), ledger=ledger)
    open_, raised, resolved, dead = [], [], [], []
    process = running = None

    async def start():
        nonlocal process, running
        process = world.process()
        running = process.running()
        await running.__aenter__()
        await asyncio.sleep(0.01)

    await start()
    for step in steps:
        if step == "raise":
            open_.append(id_ := f"a{len(raised)}")
            raised.append(id_)
            await world.raised(id_, kind=kind)
        elif step == "resolve" and open_:
            resolved.append(id_ := open_.pop(0))
            await world.resolved(id_, kind=kind)
        elif step == "restart":
            await running.__aexit__(None, None, None)
            await start()
        elif step == "kill":
            world.kill(process)
            dead.append(asyncio.create_task(running.__aexit__(None, None, None)))
            await start()
        elif step in ("ledger away", "ledger back"):
            ledger.away = step == "ledger away"
        await asyncio.sleep(0.5)
    ledger.away = False
    world.receivers[0].script = []
    await quiet(QUIET_S / 4)
    await running.__aexit__(None, None, None)
    await asyncio.gather(*dead)

    calls = world.receivers[0].told
    wanted = {key(id_) for id_ in raised} | {key(id_, "resolved") for id_ in resolved}
    assert {one for one, _ in calls} == wanted
    assert all(ledger.state(one) == "sent" for one in wanted)
    for id_ in resolved:
        keys = [one for one, _ in calls]
        assert max(n for n, one in enumerate(keys) if one == key(id_)) < keys.index(key(id_, "resolved"))
    for one in wanted:
        first, *again = [repeat for name, repeat in calls if name == one]
        assert not first
        certain = not {"kill"} & {*steps} and not {never, Uncertain("lost")} & {*script}
        assert not (certain and any(again)), "nobody is in doubt where every answer arrived"


@virtually
async def test_a_critical_alert_is_told_again_when_its_snooze_ends_each_time_once():
    world = World()
    async with world.running():
        await world.raised("a")
        await quiet()
        for _ in range(2):
            await world.record(AlertSnoozed("a", "poison_job", "job-1", world.now))
            await world.record(AlertSnoozeEnded("a", "poison_job", "job-1", "time", is_open=True))
            await quiet()
        await world.resolved("a")
        await quiet()
    (receiver,) = world.receivers
    assert [one.phase for one in receiver.notices] == ["raised", "reminded", "reminded", "resolved"]
    assert [one.message for one in receiver.notices] == ["Text of a"] * 4


@virtually
async def test_what_was_raised_while_snoozed_is_first_told_when_the_snooze_ends():
    world = World()
    async with world.running():
        await world.record(AlertRaised("a", "poison_job", "job-1", "Text", {}, snoozed_until=world.now))
        await quiet()
        assert world.receivers[0].notices == []
        await world.record(AlertSnoozeEnded("a", "poison_job", "job-1", "time", is_open=True))
        await quiet()
        await world.resolved("a")
        await quiet()
    assert [one.phase for one in world.receivers[0].notices] == ["raised", "resolved"]


@virtually
async def test_the_next_process_does_not_tell_again_what_was_first_told_when_a_snooze_ended():
    slack, webhook = Scripted(*[DOWN] * 100), Scripted(name="webhook")
    world = World(slack, webhook)
    async with world.running():
        await world.record(AlertRaised("a", "poison_job", "job-1", "Text", {}, snoozed_until=world.now))
        await world.record(AlertSnoozeEnded("a", "poison_job", "job-1", "time", is_open=True))
        await quiet()
        assert [one.phase for one in webhook.notices] == ["raised"]
    async with world.running():  # it reads this again, because slack has been told nothing
        await quiet()
    assert [one.phase for one in webhook.notices] == ["raised"]
