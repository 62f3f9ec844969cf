"""The watch: which silence, sign of life or standstill becomes which command, and when none may."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from drover.bus.messages import NOT_LEADER, OVERLOADED
from drover.domain.fleet.commands import ClearCondition, MarkOffline, MarkOnline, MarkSilent, MarkStalled
from drover.scheduler.command_client import IN_FLIGHT_MAX
from drover.testing.scenario import NOON


def at(seconds):
    return NOON + timedelta(seconds=seconds)


# Signs of life


@pytest.mark.req("DF-04")
async def test_an_offline_device_that_is_heard_is_said_to_be_online_once(hall):
    hall.device(alive=False)
    hall.beat("d1")
    hall.beat("d1")
    assert await hall.writer.answer() == [MarkOnline("d1")]


@pytest.mark.req("DF-04")
async def test_a_device_in_error_that_is_heard_again_is_said_to_be_online_though_it_stays_in_error(hall):
    hall.device(alive=False, in_error=True)
    hall.beat("d1")
    assert hall.writer.asked() == [MarkOnline("d1")]


async def test_a_device_that_is_alive_or_unknown_leads_to_nothing(hall):
    hall.device()
    hall.device("d2", running=True)
    hall.beat("d1", "d2", "unknown")
    assert hall.writer.asked() == []


async def test_a_device_heard_while_it_is_said_to_be_offline_is_said_to_be_online_right_after(hall):
    device = hall.device()
    hall.beat("d1")
    assert hall.asked_within(30) == (30, [MarkOffline("d1", NOON)])
    hall.beat("d1")
    device.alive = False
    await hall.writer.answer()
    hall.wait(1)
    assert hall.writer.asked() == [MarkOnline("d1")]


# Silence


@pytest.mark.req("DF-04")
async def test_an_idle_device_is_offline_after_thirty_seconds_of_silence(hall):
    device = hall.device()
    hall.beat("d1")
    assert hall.asked_within(100) == (30, [MarkOffline("d1", NOON)])
    device.alive = False
    await hall.writer.answer()
    assert hall.asked_within(100) is None
    assert len(hall.watch._presence) == 0, "who is gone is not looked at for ever"


@pytest.mark.req("DF-04")
async def test_a_device_in_error_is_offline_after_thirty_seconds_of_silence_too(hall):
    hall.device(in_error=True)
    hall.beat("d1")
    assert hall.asked_within(100) == (30, [MarkOffline("d1", NOON)])


@pytest.mark.req("DF-04", "DF-05")
async def test_a_busy_device_stays_busy_until_sixty_seconds_of_silence_and_then_loses_its_work(hall):
    device = hall.device(running=True)
    hall.beat("d1")
    assert hall.asked_within(100) == (60, [MarkSilent("d1", NOON)])
    hall.end()
    device.alive = False
    await hall.writer.answer()
    assert hall.asked_within(300) is None


@pytest.mark.req("DF-05")
async def test_a_device_that_runs_though_nobody_said_that_it_is_online_loses_its_work_all_the_same(hall):
    hall.device(alive=False, running=True)
    hall.beat("d1")
    await hall.writer.answer()
    assert hall.asked_within(100) == (60, [MarkSilent("d1", NOON)])


@pytest.mark.req("DF-05")
async def test_any_sign_of_a_busy_device_gives_it_the_full_time_again(hall):
    hall.device(running=True)
    hall.beat("d1")
    hall.wait(59)
    hall.beat("d1", work=hall.work(10))
    assert hall.asked_within(100) == (60, [MarkSilent("d1", at(59))])


@pytest.mark.req("DF-04")
async def test_a_silent_device_whose_work_ends_by_itself_is_offline_at_once(hall):
    hall.device(running=True)
    hall.beat("d1")
    hall.wait(40)
    hall.end()
    assert hall.asked_within(10) == (1, [MarkOffline("d1", NOON)])


@pytest.mark.req("DF-04")
async def test_a_device_that_starts_in_its_last_second_is_busy_and_has_sixty_more(hall):
    hall.device()
    hall.beat("d1")
    hall.wait(29)
    hall.start()
    hall.beat("d1", work=hall.work(0))
    assert hall.asked_within(100)[0] == 60


async def test_a_silence_that_could_not_be_recorded_is_told_again_at_the_next_sweep(hall):
    hall.device()
    hall.beat("d1")
    hall.wait(30)
    await hall.writer.answer(OVERLOADED)
    assert hall.asked_within(10) == (1, [MarkOffline("d1", NOON)])


async def test_a_silence_that_was_told_and_changed_nothing_is_told_again_after_the_full_time(hall):
    hall.device()
    hall.beat("d1")
    hall.wait(30)
    await hall.writer.answer()
    assert hall.asked_within(100) == (30, [MarkOffline("d1", NOON)])


# What is not known takes nobody offline


@pytest.mark.req("DF-04", "DF-05")
async def test_a_change_of_leader_takes_nobody_offline(hall):
    for number in range(20):
        hall.device(f"idle{number}")
        hall.device(f"busy{number}", running=True)
    hall.wait(29)
    hall.writer.epoch = 2
    assert hall.asked_within(29) is None
    hall.writer.epoch = 3
    second, commands = hall.asked_within(100)
    assert second == 31, "a sweep notices the new term, and the time counts from there"
    assert len(commands) == 20
    assert {type(command) for command in commands} == {MarkOffline}


async def test_who_does_not_lead_asks_for_nothing_and_whoever_comes_to_lead_starts_from_then(hall):
    hall.device()
    hall.device("off", alive=False)
    hall.writer.leading.clear()
    hall.beat("off")
    assert hall.asked_within(100) is None
    hall.writer.epoch = 2
    hall.writer.leading.set()
    second, _ = hall.asked_within(100)
    assert second == 31


@pytest.mark.req("DF-04", "DF-05", "DF-18")
async def test_a_lost_batch_starts_every_timer_again(hall):
    idle = hall.device("idle")
    silent = hall.device("silent", running=True)
    hall.device("still", running=True)
    hall.beat("idle", "silent", "still")
    hall.wait(29, "still")
    hall.batch("g1", lost=1)
    hall.watch.sweep()
    assert hall.asked_within(200, "still") == (30, [MarkOffline("idle", NOON)])
    idle.alive = False
    await hall.writer.answer()
    assert hall.asked_within(200, "still") == (30, [MarkSilent("silent", NOON)])
    hall.end("silent")
    silent.alive = False
    await hall.writer.answer()
    assert hall.asked_within(200, "still") == (60, [MarkStalled("a-still", 1)])


async def test_a_batch_lost_before_a_sweep_that_would_have_judged_gives_everybody_their_time(hall):
    hall.device()
    hall.beat("d1")
    hall.wait(29)
    hall.clock.advance(seconds=1)
    hall.batch("g1", lost=1)
    hall.batch("g1")
    hall.watch.sweep()
    assert hall.writer.asked() == []


async def test_while_no_gateway_speaks_nothing_is_asked_for_and_afterwards_all_have_their_time(hall):
    hall.device()
    hall.device("d2", running=True)
    hall.beat("d1", "d2")
    for _ in range(200):
        hall.clock.advance(seconds=1)
        hall.watch.sweep()
    assert hall.writer.asked() == []
    hall.beat()
    hall.watch.sweep()
    assert hall.asked_within(100)[0] == 30


async def test_phones_of_a_gateway_that_falls_silent_have_their_full_time_to_come_back_by_another(hall):
    idle = hall.device("idle")
    hall.device("busy", running=True)
    hall.gateways = ["g1", "g2"]
    hall.beat("idle", "busy")
    hall.gateways = ["g2"]
    assert hall.asked_within(200) == (30 + 30, [MarkOffline("idle", NOON)])
    idle.alive = False
    await hall.writer.answer()
    assert hall.asked_within(200) == (30, [MarkSilent("busy", NOON)]), "30 + 60"


# Stalls


@pytest.mark.req("DF-18")
async def test_work_of_a_device_that_is_heard_but_reports_no_progress_has_stalled_after_120_s(hall):
    hall.device(running=True)
    hall.beat("d1")
    assert hall.asked_within(200, "d1") == (120, [MarkStalled("a-d1", 1)])
    hall.end()
    await hall.writer.answer()
    assert hall.asked_within(300, "d1") is None


@pytest.mark.req("DF-18")
async def test_progress_keeps_work_from_stalling(hall):
    hall.device(running=True)
    for progress_pct in range(10):
        hall.beat("d1", work=hall.work(progress_pct))
        assert hall.asked_within(119, "d1") is None
    assert hall.asked_within(10, "d1") == (1, [MarkStalled("a-d1", 1)])


@pytest.mark.req("DF-18")
async def test_an_advertisement_holds_a_stall_for_five_minutes_in_all(hall):
    hall.device(running=True)
    hall.beat("d1", work=hall.work(10, ad_playing=True))
    assert hall.asked_within(600, "d1") == (420, [MarkStalled("a-d1", 1)])


@pytest.mark.req("DF-18", "DF-30")
async def test_a_pop_up_that_was_closed_gives_work_its_full_time_again(hall):
    hall.device(running=True)
    hall.beat("d1", work=hall.work(10))
    hall.wait(119, "d1")
    hall.beat("d1", work=hall.work(10, popup_closed=True))
    assert hall.asked_within(200, "d1") == (120, [MarkStalled("a-d1", 1)])


@pytest.mark.req("DF-18")
async def test_a_new_run_has_its_full_time(hall):
    hall.device(running=True)
    hall.wait(100, "d1")
    hall.end()
    hall.wait(10, "d1")
    hall.start(run=2)
    hall.wait(1, "d1")
    assert hall.asked_within(200, "d1") == (120, [MarkStalled("a-d1", 2)])


@pytest.mark.req("DF-18")
async def test_work_that_runs_when_this_process_comes_to_lead_has_its_full_time(hall):
    hall.device(running=True)
    hall.wait(100, "d1")
    hall.writer.epoch = 2
    hall.wait(1, "d1")
    assert hall.asked_within(200, "d1") == (120, [MarkStalled("a-d1", 1)])


@pytest.mark.req("DF-05", "DF-18")
async def test_work_of_a_device_that_is_not_heard_has_not_stalled_but_is_lost_with_its_network(hall):
    hall.device(running=True)
    hall.beat("d1")
    hall.wait(80, "d1")
    assert hall.asked_within(200) == (60, [MarkSilent("d1", at(80))]), "not the stall, which would be 20 s earlier"


@pytest.mark.req("DF-18")
async def test_work_of_a_device_that_comes_back_has_time_to_send_the_progress_it_kept(hall):
    hall.device(running=True)
    hall.beat("d1")
    hall.wait(80, "d1")
    hall.wait(50)
    assert hall.asked_within(200, "d1") == (110, [MarkStalled("a-d1", 1)]), "120 s after it would have stalled"


@pytest.mark.req("DF-18")
async def test_work_of_a_device_whose_gateway_has_just_fallen_silent_has_not_stalled(hall):
    hall.device(running=True)
    hall.gateways = ["g1", "g2"]
    hall.beat("d1")
    hall.wait(115, "d1")
    hall.gateways = ["g2"]
    hall.wait(10)
    assert hall.asked_within(200, "d1") == (115, [MarkStalled("a-d1", 1)]), "120 s after it would have stalled"


async def test_a_stall_that_could_not_be_recorded_is_told_again_at_the_next_sweep(hall):
    hall.device(running=True)
    hall.beat("d1")
    hall.wait(120, "d1")
    await hall.writer.answer(OVERLOADED)
    assert hall.asked_within(10, "d1") == (1, [MarkStalled("a-d1", 1)])


async def test_a_stall_that_was_told_and_changed_nothing_is_told_again_after_the_full_time(hall):
    hall.device(running=True)
    hall.beat("d1")
    hall.wait(120, "d1")
    await hall.writer.answer()
    assert hall.asked_within(200, "d1") == (120, [MarkStalled("a-d1", 1)])


async def test_a_stall_waits_for_what_is_under_way_for_its_device(hall):
    device = hall.device(running=True, alive=False)
    hall.beat("d1")
    hall.wait(125, "d1")
    assert hall.writer.asked() == [MarkOnline("d1")]
    device.alive = True
    await hall.writer.answer()
    assert hall.asked_within(10, "d1") == (1, [MarkStalled("a-d1", 1)])


@pytest.mark.req("DF-18")
async def test_work_that_begins_long_after_the_last_has_ended_can_stall_too(hall):
    hall.device(running=True)
    hall.beat("d1")
    hall.end()
    hall.wait(500, "d1")
    assert len(hall.watch._stalls) == 0, "what has ended is not looked at for ever"
    hall.start(run=2)
    hall.beat("d1")
    assert hall.asked_within(200, "d1") == (120, [MarkStalled("a-d1", 2)])


# Conditions


@pytest.mark.req("DF-22")
async def test_a_locked_device_that_says_it_is_unlocked_is_cleared(hall):
    hall.device(condition="screen_locked")
    hall.beat("d1", screen_locked=True)
    hall.beat("d1", battery_pct=100)
    assert hall.writer.asked() == []
    hall.beat("d1", screen_locked=False)
    assert hall.writer.asked() == [ClearCondition("d1", "screen_locked")]


@pytest.mark.req("DF-22")
@pytest.mark.parametrize(("battery_pct", "charged"), [(0, False), (19, False), (20, True), (100, True)])
async def test_a_device_with_a_flat_battery_is_cleared_when_it_says_twenty_percent_or_more(hall, battery_pct, charged):
    hall.device(condition="battery_low")
    hall.beat("d1", battery_pct=battery_pct)
    assert hall.writer.asked() == ([ClearCondition("d1", "battery_low")] if charged else [])


@pytest.mark.req("DF-22")
@pytest.mark.parametrize("claims", [{"battery_pct": "100"}, {"battery_pct": True}, {"battery_pct": None}, {}])
async def test_a_claim_that_makes_no_sense_clears_nothing(hall, claims):
    hall.device(condition="battery_low")
    hall.beat("d1", **claims)
    assert hall.writer.asked() == []


@pytest.mark.req("DF-22")
async def test_a_device_in_error_without_a_condition_is_not_cleared_by_what_it_says(hall):
    hall.device(in_error=True)
    hall.device("well")
    hall.beat("d1", "well", screen_locked=False, battery_pct=100, status="online")
    assert hall.writer.asked() == []


@pytest.mark.req("DF-22")
async def test_a_device_that_comes_back_unlocked_is_online_first_and_then_cleared_one_command_at_a_time(hall):
    hall.device(alive=False, condition="screen_locked")
    hall.beat("d1", screen_locked=False)
    assert await hall.writer.answer() == [MarkOnline("d1")]
    assert await hall.writer.answer() == [ClearCondition("d1", "screen_locked")]
    assert hall.writer.asked() == []


@pytest.mark.req("DF-22")
async def test_what_a_device_says_only_once_while_something_is_under_way_is_not_lost(hall):
    device = hall.device(alive=False, condition="screen_locked")
    hall.beat("d1")
    hall.beat("d1", screen_locked=False)
    hall.beat("d1", status="online")
    device.alive = True
    assert await hall.writer.answer() == [MarkOnline("d1")]
    hall.wait(1)
    assert hall.writer.asked() == [ClearCondition("d1", "screen_locked")]


@pytest.mark.req("DF-22")
async def test_what_a_device_takes_back_before_it_could_be_told_is_not_told(hall):
    device = hall.device(alive=False, condition="screen_locked")
    hall.beat("d1")
    hall.beat("d1", screen_locked=False)
    hall.beat("d1", screen_locked=True)
    device.alive = True
    await hall.writer.answer()
    assert hall.asked_within(5) is None


# Many at once


@pytest.mark.req("DF-04")
async def test_a_hall_that_loses_its_power_is_told_of_in_turn(hall):
    names = [f"d{number}" for number in range(1_200)]
    for name in names:
        hall.device(name)
    hall.beat(*names)
    hall.wait(29)
    hall.clock.advance(seconds=1)
    hall.beat()
    told = []
    for crowded, so_many in [(True, IN_FLIGHT_MAX), (True, IN_FLIGHT_MAX), (False, 1_200 - 2 * IN_FLIGHT_MAX)]:
        assert hall.watch.sweep() is crowded
        hall.watch.sweep()
        assert len(hall.writer.waiting) == so_many
        for command in await hall.writer.answer():
            hall.fleet.devices[command.device_id].alive = False
            told.append(command.device_id)
    assert told == names
    assert hall.asked_within(100) is None


@pytest.mark.req("DF-04")
async def test_a_hall_that_comes_back_at_once_is_online_without_waiting_for_the_next_heartbeats(hall):
    names = [f"d{number}" for number in range(1_200)]
    for name in names:
        hall.device(name, alive=False)
    hall.beat(*names)
    told = []
    for _ in range(3):
        assert len(hall.writer.waiting) <= IN_FLIGHT_MAX
        for command in await hall.writer.answer():
            hall.fleet.devices[command.device_id].alive = True
            told.append(command)
        hall.watch.sweep()
    assert told == [MarkOnline(name) for name in names]
    assert hall.asked_within(20) is None


async def test_outcomes_of_an_earlier_term_do_not_touch_this_one(hall):
    hall.device()
    hall.beat("d1")
    hall.wait(30)
    (_, of_the_first_term), *_ = hall.writer.waiting
    hall.writer.waiting.clear()
    hall.writer.epoch = 2
    assert hall.asked_within(100)[0] == 31
    of_the_first_term.set_result(NOT_LEADER)
    await asyncio.sleep(0)
    hall.wait(5)
    assert len(hall.writer.waiting) == 1, "the one of this term is still under way"
