"""Whatever happens to a farm of renders, in whichever order: at the end everything is as it should be."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drover.domain.render import commands as c
from drover.testing.virtual_time import VirtualTimeLoop
from tests.unit.render.farm import World

NAMES = ["a", "b", "c"]
EXAMPLES = 60

name = st.sampled_from(NAMES)
render_id = st.integers(1, 6)
step = st.one_of(
    st.tuples(st.just("request")),
    st.tuples(st.just("cancel"), render_id),
    st.tuples(st.just("release"), render_id),
    st.tuples(st.just("rerun"), render_id),
    st.tuples(st.just("start"), name),
    st.tuples(st.just("double"), name),
    st.tuples(st.just("kill"), name),
    st.tuples(st.just("stop"), name),
    st.tuples(st.just("sleep"), name, st.sampled_from([3.0, 30.0, 2400.0])),
    st.tuples(st.just("nexrender"), st.booleans()),
    st.tuples(st.just("nas"), st.booleans()),
    st.tuples(st.just("queue"), st.booleans()),
    st.tuples(st.just("forget")),
    st.tuples(st.just("outcomes"), st.lists(st.sampled_from(["finished", "error", "stuck"]), min_size=1, max_size=3)),
    st.tuples(st.just("clock"), st.sampled_from([60, 3600])),
)
wait_s = st.sampled_from([0.0, 0.05, 0.2, 0.5, 1.0, 3.0, 10.0, 45.0, 300.0, 2000.0])
story = st.lists(st.tuples(wait_s, step), min_size=1, max_size=25)


async def live(steps, seed):
    world = World(Random(seed))
    world.request()
    world.request()
    world.start("a")
    for pause_s, (kind, *how) in steps:
        await asyncio.sleep(pause_s)
        await happens(world, kind, how)
    await world.settle()
    return world


async def happens(world, kind, how):
    match kind, how:
        case "request", []:
            world.request()
        case "cancel", [id_]:
            world.office.do(c.CancelRender(id_))
        case "release", [id_]:
            world.office.do(c.ReleaseRender(id_))
        case "rerun", [id_]:
            world.office.do(c.RerunRender(id_))
        case "start", [who]:
            if who not in world.running:
                world.start(who)
        case "double", [who]:
            world.start(who)
        case "kill", [who]:
            await world.kill(who)
        case "stop", [who]:
            await world.stop(who)
        case "sleep", [who, seconds]:
            world.sleep(who, seconds)
        case "nexrender", [down]:
            world.nexrender_down = down
        case "nas", [away]:
            world.nas_away = away
        case "queue", [deaf]:
            world.deaf = deaf
        case "forget", []:
            world.jobs.clear()
        case "outcomes", [outcomes]:
            world.outcomes = outcomes
        case "clock", [seconds]:
            world.office.skew += timedelta(seconds=seconds)


def run(steps, seed):
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(live(steps, seed))


@pytest.mark.req("RN-02", "RN-03", "RN-04", "RN-11", "RN-12")
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=story, seed=st.integers(0, 2**32))
def test_at_the_end_everything_is_as_it_should_be(steps, seed):
    world = run(steps, seed)
    assert not list(world.problems())
