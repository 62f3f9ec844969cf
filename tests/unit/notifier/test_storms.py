"""Many alerts at once: critical ones overtake warnings, and warnings of one kind are one message."""

from __future__ import annotations

import asyncio

import pytest

from drover.notifier import delivery_queue
from drover.notifier.delivery_queue import RETRY
from drover.notifier.folding import FOLDED_MAX, GATHER_S
from drover.notifier.notice import Delivered, Failed, Uncertain
from drover.notifier.receivers.slack import TEXT_CHARS_MAX, message_of
from tests.unit.notifier.test_delivering import DOWN, never, virtually
from tests.unit.notifier.world import QUIET_S, TIMEOUT_S, Scripted, World, key, quiet

WARNING = "needs_reset"
OTHER_WARNING = "offers_untaken"


def ids(count, first=0):
    return [f"w{number}" for number in range(first, first + count)]


# Critical alerts first


@pytest.mark.req("SE-12")
@virtually
async def test_a_critical_alert_overtakes_all_warnings_that_wait():
    slack = Scripted(pace_s=1.1)
    world = World(slack)
    async with world.running():
        await world.raised(*ids(300), kind=WARNING)
        await asyncio.sleep(5)
        told = len(slack.calls)
        await world.raised("critical")
        await asyncio.sleep(1.2)
        assert slack.keys[told:] == [key("critical")]
        await quiet()
    assert slack.keys == [key(id_) for id_ in [*ids(told), "critical", *ids(300 - told, told)]], "the rest, in order"


@pytest.mark.req("SE-12")
@virtually
async def test_a_critical_alert_overtakes_warnings_that_have_no_room_in_memory(monkeypatch):
    monkeypatch.setattr(delivery_queue, "WAITING_MAX", 3)
    slack = Scripted(*[DOWN] * 5)
    world = World(slack)
    async with world.running():
        await world.raised(*ids(100), kind=WARNING)
        await asyncio.sleep(0.5)
        await world.raised("critical")
        await asyncio.sleep(5)
        assert slack.keys[1] == key("critical"), "the receiver is down, so no warning makes room"
        await quiet()
    assert set(slack.keys) == {key("critical"), *(key(id_) for id_ in ids(100))}, "none is lost"
    assert world.ledger.positions == {"fleet": 2}


@pytest.mark.req("SE-12")
@virtually
async def test_the_end_of_a_critical_alert_overtakes_warnings_too():
    slack = Scripted(pace_s=1.1)
    world = World(slack)
    async with world.running():
        await world.raised("critical")
        await asyncio.sleep(0.1)
        await world.raised(*ids(50), kind=WARNING)
        await asyncio.sleep(0.1)
        await world.resolved("critical")
        await asyncio.sleep(3)
        assert slack.keys[:2] == [key("critical"), key("critical", "resolved")]


@pytest.mark.req("SE-12")
@virtually
async def test_a_receiver_that_is_back_is_told_the_critical_alert_first():
    slack = Scripted(*[DOWN] * 6)
    world = World(slack)
    async with world.running():
        await world.raised(*ids(20), kind=WARNING)
        await asyncio.sleep(0.5)
        await world.raised("critical")
        await quiet()
    delivered = slack.keys[6:]
    assert delivered.index(key("critical")) <= 1
    assert len(delivered) == 21


@pytest.mark.req("SE-12")
@virtually
async def test_a_critical_alert_that_its_receiver_chokes_on_holds_up_no_warning():
    class Choking(Scripted):
        async def send(self, notice, *, repeat):
            await super().send(notice, repeat=repeat)
            return DOWN if notice.alert_id == "choke" else Delivered()

    slack = Choking()
    world = World(slack)
    async with world.running():
        await world.raised("choke")
        await world.raised(*ids(20), kind=WARNING)
        await asyncio.sleep(5 * RETRY.first_s)
        assert all(world.ledger.state(key(id_)) == "sent" for id_ in ids(20))


@pytest.mark.req("SE-12")
@virtually
async def test_several_critical_alerts_that_their_receiver_chokes_on_hold_up_no_warning():
    class Choking(Scripted):
        async def send(self, notice, *, repeat):
            await super().send(notice, repeat=repeat)
            return DOWN if notice.alert_id.startswith("choke") else Delivered()

    slack = Choking()
    world = World(slack)
    async with world.running():
        await world.raised("choke1", "choke2", "choke3")
        await world.raised(*ids(20), kind=WARNING)
        await asyncio.sleep(60 * RETRY.first_s)
        assert all(world.ledger.state(key(id_)) == "sent" for id_ in ids(20))


@pytest.mark.req("SE-12")
@virtually
async def test_a_receiver_that_is_back_is_told_all_critical_alerts_before_the_second_warning():
    slack = Scripted(*[DOWN] * 9)
    world = World(slack)
    async with world.running():
        await world.raised(*ids(20), kind=WARNING)
        await world.raised("c1", "c2", "c3")
        await quiet()
    delivered = slack.keys[9:]
    assert {key(id_) for id_ in ("c1", "c2", "c3")} <= set(delivered[:4])
    assert len(delivered) == 23


# Warnings of one kind are one message


@pytest.mark.req("SE-12")
@virtually
async def test_warnings_of_one_kind_are_one_message_and_each_is_on_record():
    slack = Scripted(folds=True)
    world = World(slack)
    async with world.running():
        for id_ in ids(14):
            await world.raised(id_, kind=WARNING)
        await world.raised("other", kind=OTHER_WARNING)
        await quiet()
    assert slack.messages == [ids(14), ["other"]]
    assert slack.notices[0].message == "14 phones: needs reset"
    assert all(world.ledger.state(key(id_)) == "sent" for id_ in [*ids(14), "other"])
    assert world.ledger.positions == {"fleet": 15}


@pytest.mark.req("SE-12")
@virtually
async def test_warnings_that_come_within_two_seconds_are_waited_for_and_a_critical_alert_waits_for_none():
    slack = Scripted(folds=True)
    world = World(slack)
    async with world.running():
        began = asyncio.get_running_loop().time()
        await world.raised("w0", kind=WARNING)
        await asyncio.sleep(GATHER_S / 2)
        await world.raised("w1", kind=WARNING)
        await world.raised("critical")
        await quiet()
    assert slack.messages == [["critical"], ["w0", "w1"]]
    assert [second - began for second in slack.seconds] == pytest.approx([GATHER_S / 2, GATHER_S], abs=0.1)


@pytest.mark.req("SE-12")
@virtually
async def test_critical_alerts_are_never_folded():
    slack = Scripted(folds=True)
    world = World(slack)
    async with world.running():
        await world.raised("c1", "c2", "c3")
        await quiet()
    assert slack.messages == [["c1"], ["c2"], ["c3"]]


@pytest.mark.req("SE-12")
@virtually
async def test_a_program_gets_each_warning_by_itself():
    webhook = Scripted(name="webhook")
    world = World(webhook)
    async with world.running():
        await world.raised(*ids(14), kind=WARNING)
        await quiet()
    assert webhook.messages == [[id_] for id_ in ids(14)]


@pytest.mark.req("SE-12")
@virtually
async def test_the_order_within_a_kind_is_kept():
    slack = Scripted(folds=True)
    world = World(slack)
    async with world.running():
        await world.raised("w0", "w1", kind=WARNING)
        await world.resolved("w0", "w1", kind=WARNING)
        await world.raised("w2", "w3", kind=WARNING)
        await quiet()
    assert slack.messages == [["w0", "w1"], ["w0", "w1"], ["w2", "w3"]]
    assert [notice.phase for notice in slack.notices] == ["raised", "resolved", "raised"]
    over = slack.notices[1].folded[0]
    assert (over.message, over.reason) == ("Text of w0", "resumed")


@pytest.mark.req("SE-12")
@virtually
async def test_a_message_has_a_bound_and_the_rest_comes_in_the_next():
    slack = Scripted(folds=True)
    world = World(slack)
    async with world.running():
        await world.raised(*ids(100), kind=WARNING)
        await quiet()
    assert [len(message) for message in slack.messages] == [FOLDED_MAX, FOLDED_MAX, 100 - 2 * FOLDED_MAX]
    assert [id_ for message in slack.messages for id_ in message] == ids(100)


# Failures and repeats


@pytest.mark.req("SE-12")
@virtually
async def test_if_a_message_of_several_is_refused_each_is_sent_by_itself_and_only_the_bad_one_is_dropped():
    class Picky(Scripted):
        async def send(self, notice, *, repeat):
            await super().send(notice, repeat=repeat)
            bad = any(one.alert_id == "w1" for one in notice.folded or (notice,))
            return Failed("http_400", permanent=True) if bad else Delivered()

    slack = Picky(folds=True)
    world = World(slack)
    async with world.running():
        await world.raised(*ids(3), kind=WARNING)
        await quiet()
    assert slack.messages == [ids(3), ["w0"], ["w1"], ["w2"]]
    assert [world.ledger.state(key(id_)) for id_ in ids(3)] == ["sent", "dropped", "sent"]
    assert not any(repeat for _, repeat in slack.told), "a refusal leaves no doubt"


@pytest.mark.req("SE-12")
@virtually
async def test_a_message_that_may_have_arrived_is_repeated_as_it_was_and_newer_warnings_come_in_the_next():
    slack = Scripted(Uncertain("lost"), folds=True)
    world = World(slack)
    async with world.running():
        await world.raised("w0", "w1", kind=WARNING)
        await asyncio.sleep(GATHER_S + 0.1)
        await world.raised("w2", kind=WARNING)
        await quiet()
    assert slack.messages == [["w0", "w1"], ["w0", "w1"], ["w2"]]
    assert [repeat for _, repeat, _ in slack.calls] == [False, True, False]
    assert slack.keys[0] == slack.keys[1] != slack.keys[2]


@pytest.mark.req("SE-12")
@virtually
async def test_after_a_crash_a_message_is_repeated_as_it_was():
    slack = Scripted(never, folds=True)
    world = World(slack)
    dying = world.process()
    running = dying.running()
    await running.__aenter__()
    await asyncio.sleep(0.01)
    await world.raised("w0", "w1", "w2", kind=WARNING)
    await asyncio.sleep(GATHER_S + 0.5)
    world.kill(dying)
    leaving = asyncio.create_task(running.__aexit__(None, None, None))
    async with world.running():
        await world.raised("w3", kind=WARNING)
        await quiet()
    await leaving
    assert slack.messages.count(["w0", "w1", "w2"]) == 2
    repeated = [(name, repeat) for name, repeat, _ in slack.calls if name == slack.keys[0]]
    assert repeated == [(slack.keys[0], False), (slack.keys[0], True)], "the same key, and marked"
    assert sorted(id_ for message in slack.messages[1:] for id_ in message) == ["w0", "w1", "w2", "w3"]


@pytest.mark.req("SE-12")
@virtually
async def test_warnings_that_failed_together_take_newer_ones_along():
    slack = Scripted(DOWN, folds=True)
    world = World(slack)
    async with world.running():
        await world.raised("w0", "w1", kind=WARNING)
        await asyncio.sleep(GATHER_S + 0.1)
        await world.raised("w2", kind=WARNING)
        await quiet(QUIET_S)
    assert {id_ for message in slack.messages[1:] for id_ in message} == {"w0", "w1", "w2"}
    assert not any(repeat for _, repeat in slack.told)


@pytest.mark.req("SE-12")
@virtually
async def test_slack_lists_every_folded_warning():
    slack = Scripted(folds=True)
    world = World(slack)
    async with world.running():
        await world.raised(*ids(FOLDED_MAX), kind=WARNING)
        await quiet(TIMEOUT_S)
    blocks = message_of(slack.notices[0])["blocks"]
    assert blocks[0]["text"]["text"] == f"🟠 {FOLDED_MAX} phones: needs reset"
    listed = "\n".join(block["text"]["text"] for block in blocks if block["type"] == "section")
    assert all(f"Text of {id_} (job-1, alert {id_})" in listed for id_ in ids(FOLDED_MAX))
    assert all(len(block["text"]["text"]) <= TEXT_CHARS_MAX for block in blocks if block["type"] == "section")
    assert len(blocks) <= 50, "Slack takes no more"
