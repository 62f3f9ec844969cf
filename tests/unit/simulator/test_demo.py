"""The plan of the demo: what its first minutes show for certain, and that most phones are busy for an hour."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import msgspec
import pytest

from drover.agent.protocol import Job, Offer
from drover.domain.fleet.job_spec import JobSpec, check_spec
from drover.domain.fleet.policy import (
    OFFER_ACKED_WITHIN,
    OFFLINE_AFTER_S,
    POISON_DEVICES,
    RULES,
    SILENT_AFTER_S,
    DeviceEffect,
    rule_of,
)
from drover.simulator.demo import (
    BUSY_SHARE,
    CUES,
    HANGS,
    NO_POWER,
    PACE_MAX,
    PACE_MIN,
    SCENES,
    SEEN_WITHIN_S,
    demo,
    demo_jobs,
)
from drover.simulator.population import populate, roll, troubles_of
from drover.simulator.work import player

PCS, PHONES = 6, 20
HOUR_S = 3600
LAG_S = 15
"""From the end of a job until all phones have begun the next one: some of them poll."""


def script_of(order: dict) -> Offer:
    fields = {name: order[name] for name in Job.__struct_fields__ if name in order}
    return Offer("A", "D", 1, Job(**fields))


def wanted(order: dict, farm: list) -> list:
    target = order.get("target", {})
    fitting = [one for one in farm if target.get("pc_id", one.pc_id) == one.pc_id]
    fitting = [one for one in fitting if target.get("group_id", one.group_id) == one.group_id]
    return fitting[: target.get("count")]


def lengths(order: dict, farm: list, show) -> list[tuple[float, float]]:
    """For each phone: for how long it is busy with this job, and after how long it is done with it."""
    found = []
    for phone in wanted(order, farm):
        play, offer, busy_s, done_s = (
            player(show, phone.serial_number, phone.capabilities, 1),
            script_of(order),
            0.0,
            0.0,
        )
        for run in range(1, 4):
            plan = play(msgspec.structs.replace(offer, run=run))
            busy_s += plan.reaches_s(plan.ends_at)
            done_s += plan.reaches_s(plan.ends_at)
            if plan.failure is None or run >= rule_of(plan.failure.code).attempts:
                break
            done_s += rule_of(plan.failure.code).delay(run).total_seconds()
        found.append((busy_s, done_s))
    return found


def test_the_platform_takes_its_jobs_and_the_same_seed_gives_the_same():
    orders = list(islice(demo_jobs(PCS, PHONES, 1), 200))
    assert orders == list(islice(demo_jobs(PCS, PHONES, 1), 200))
    assert all(check_spec(msgspec.convert(order, JobSpec)) is None for order in orders)
    kinds = Counter(next(iter(order.get("target", {"all": 1}))) for order in orders)
    assert kinds.keys() == {"all", "pc_id", "group_id", "count"}
    assert kinds["count"] > 0.7 * len(orders)
    # A job without a number of phones waits for phones that are held: only the first ones may, when none is by chance.
    assert [number for number, order in enumerate(orders, 1) if "count" not in order.get("target", {})] == [1, 3]
    farm = roll(PCS, PHONES, 1)
    assert all(wanted(order, farm) for order in orders)


def test_most_phones_are_busy_most_of_the_time_for_an_hour():
    """Without faults of phones and PCs, which are few: the platform hands out one job after the other."""
    farm, show = roll(PCS, PHONES, 1), demo().show
    now = busy_s = mostly_s = 0.0
    for order in demo_jobs(PCS, PHONES, 1):
        runs = lengths(order, farm, show)
        job_s = max(done_s for _, done_s in runs) + LAG_S
        busy = sum(busy_s for busy_s, _ in runs)
        now, busy_s = now + job_s, busy_s + busy
        # From its start on, the phones of the job are busy together, for about as long as the quickest of them.
        most = sorted(busy_s for busy_s, _ in runs)[-(len(farm) // 2 + 1) :]
        mostly_s += most[0] if len(most) > len(farm) // 2 else 0.0
        if now >= HOUR_S:
            break
    assert busy_s / (now * len(farm)) > 0.6
    assert mostly_s / now > 0.6


def test_its_first_job_has_phones_in_error_and_a_retry_and_its_second_one_is_poison():
    first, poison, third, *_ = islice(demo_jobs(PCS, PHONES, 1), 3)
    farm, show = roll(PCS, PHONES, 1), demo().show

    def failures(order: dict, run: int) -> Counter:
        offer = msgspec.structs.replace(script_of(order), run=run)
        plans = [player(show, one.serial_number, one.capabilities, 1)(offer) for one in wanted(order, farm)]
        return Counter(plan.failure.code for plan in plans if plan.failure is not None)

    assert failures(first, 1) == {"APP_CRASH": 2, "OUT_OF_MEMORY": 1, "VIDEO_NETWORK_ERROR": PCS}
    assert failures(first, RULES["APP_CRASH"].attempts) == {"APP_CRASH": 2, "OUT_OF_MEMORY": 1}
    assert RULES["APP_CRASH"].device is DeviceEffect.CRASH
    assert RULES["OUT_OF_MEMORY"].device is DeviceEffect.NEEDS_RESET
    assert failures(poison, 1) == failures(poison, 2) == {"E4001": len(wanted(poison, farm))}
    assert len(wanted(poison, farm)) >= POISON_DEVICES
    assert failures(third, 1) == {}
    assert len(wanted(third, farm)) == len(farm)
    assert len(wanted(next(islice(demo_jobs(PCS, PHONES, 1), 3, None)), farm)) == BUSY_SHARE * len(farm)


def test_every_state_is_due_within_three_minutes():
    farm, show = roll(PCS, PHONES, 1), demo().show
    first, poison, third = islice(demo_jobs(PCS, PHONES, 1), 3)
    first_s, poison_s, third_s = (
        max(done_s for _, done_s in lengths(order, farm, show)) + LAG_S for order in (first, poison, third)
    )
    begins_s = first_s + poison_s
    hangs, _, dark = CUES
    assert (hangs.fault, dark.fault) == (HANGS, NO_POWER)
    assert begins_s < SEEN_WITHIN_S - 60  # the poison job is paused
    held_s = max(begins_s, hangs.start_s) + OFFER_ACKED_WITHIN.total_seconds()
    assert hangs.start_s < begins_s and held_s < min(hangs.end_s, SEEN_WITHIN_S)
    assert dark.start_s + SILENT_AFTER_S + 15 < SEEN_WITHIN_S  # the agents' last signs of life, and the watch
    assert dark.end_s > dark.start_s + SILENT_AFTER_S + 45  # it stays away for long enough to be looked at
    assert dark.end_s > begins_s + third_s  # and the third job does not wait for it
    assert hangs.end_s + OFFLINE_AFTER_S < begins_s + third_s  # nor for the phone that is held


def test_the_cued_phones_and_no_others_are_in_trouble_at_first():
    script = demo()
    phones = populate(PCS, PHONES, 1, script)
    at_130 = {phone.identity.serial_number: fault.name for phone in phones if (fault := phone.fault_at(130))}
    dark = {phone.identity.serial_number for phone in phones if phone.identity.pc_id == "PC-05"}
    assert at_130 == dict.fromkeys(dark, "no power") | {"SIM00001P001D007": "hangs"}
    for phone in phones:
        starts = [episode.start for episode in islice(troubles_of(phone.identity, 1, script), 3)]
        assert starts == sorted(starts)
        on_cue = phone.identity.serial_number in at_130
        assert on_cue or starts[0] >= script.chance_from_s


@pytest.mark.parametrize("pace", [PACE_MIN, 1, PACE_MAX])
def test_a_higher_pace_brings_everything_sooner_but_faults_last_as_long(pace):
    script = demo(pace)
    assert (script.cues[0].start_s, script.cues[2].start_s) == (45 / pace, 75 / pace)
    assert script.show.video_s == (150 / pace, 200 / pace)
    assert script.show.scenes[0].video_s == (20 / pace, 20 / pace)
    assert len(script.show.scenes) == len(SCENES)
    assert [cue.end_s - cue.start_s for cue in script.cues] == [cue.end_s - cue.start_s for cue in CUES]
    assert script.cues[0].end_s == script.cues[1].start_s
