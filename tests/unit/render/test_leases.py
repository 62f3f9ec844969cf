"""A worker keeps its render as long as it lives, and lets go of it when it is another's: on virtual time."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta
from itertools import pairwise

import pytest

from drover.domain.render import commands as c
from drover.domain.render import events as e
from drover.domain.render import render_decider
from drover.domain.render.policy import Policy
from drover.domain.render.state import Status
from drover.render.nexrender.states import Stage
from drover.testing.scenario import Scenario
from tests.unit.render import shop as shops
from tests.unit.render.shop import noted, stuck_in


@pytest.mark.req("RN-04")
def test_what_happens_to_other_renders_does_not_keep_a_worker_from_renewing_its_lease(in_shop):
    async def story(shop):
        shop.request()
        shop.start()
        copying = stuck_in(shop.nas, "put")
        await shop.until(copying.reached.is_set)
        for _ in range(24):
            await asyncio.sleep(300)  # sooner than a lease needs to be renewed
            shop.office.do(c.CancelRender(shop.request()))
        assert shop.office.render().run == 1
        assert not shop.office.told(e.RenderRequeued)
        copying.go_on.set()
        await shop.until_status(Status.COMPLETED)

    in_shop(story)


@pytest.mark.req("RN-04")
def test_how_long_a_lease_is_the_queue_says_not_the_workers_own_settings(in_shop, monkeypatch):
    brief = render_decider(Policy(lease_s=60))
    monkeypatch.setattr(shops, "RENDER", brief)

    async def story(shop):
        shop.office.scenario = Scenario(brief, now=shop.office.now())
        shop.request()
        shop.start()
        copying = stuck_in(shop.nas, "put")
        await shop.until(copying.reached.is_set)
        await asyncio.sleep(600)
        assert not shop.office.told(e.RenderRequeued)
        copying.go_on.set()
        await shop.until_status(Status.COMPLETED)

    in_shop(story)


@pytest.mark.req("RN-04")
def test_a_worker_that_has_reported_the_end_itself_was_not_overtaken(in_shop):
    """It is told of its own report like everybody else, maybe before it is answered."""

    async def story(shop):
        shop.nexrender.script = [([(1, Stage.ERROR, 0)], "out of memory", None)]
        shop.request()
        report = shop.office.send

        async def slowly(context, command, **how):
            outcome = await report(context, command, **how)
            if isinstance(command, c.ReportFault):
                await asyncio.sleep(0.5)
            return outcome

        shop.office.send = slowly
        shop.start()
        await shop.until_status(Status.FAILED)
        await asyncio.sleep(10)
        assert not shop.office.told(e.StaleRunRefused)

    in_shop(story)


@pytest.mark.req("RN-02")
def test_a_render_that_is_cancelled_while_a_fault_is_reported_is_let_go_as_soon_as_that_is_answered(in_shop):
    async def story(shop):
        shop.nexrender.down = True
        shop.request()
        report = shop.office.send

        async def slowly(context, command, **how):
            outcome = await report(context, command, **how)
            if isinstance(command, c.ReportFault):
                await asyncio.sleep(5)
            return outcome

        shop.office.send = slowly
        shop.start()
        await shop.until(lambda: shop.office.told(e.RetryScheduled))
        shop.office.do(c.CancelRender(1))
        await asyncio.sleep(6)
        assert shop.crew.workers[0].run is None, "and not after the wait for the next try"

    in_shop(story)


@pytest.mark.req("RN-14", "RN-15")
def test_a_completed_render_counts_whatever_its_worker_hears_meanwhile(in_shop):
    async def story(shop):
        shop.request()
        shop.start()
        discarding = stuck_in(shop.folders, "discard", shop.workshop)
        await shop.until(discarding.reached.is_set)
        shop.office.do(c.CancelRender(shop.request()))
        await asyncio.sleep(5)
        discarding.go_on.set()
        await shop.until(lambda: shop.crew.workers[0].run is None)
        assert shop.crew.workers[0].completed == 1
        assert not shop.office.told(e.StaleRunRefused)

    in_shop(story)


@pytest.mark.req("RN-03", "RN-04")
def test_two_processes_of_one_name_do_not_take_a_render_from_each_other_for_ever(in_shop):
    async def story(shop):
        put = shop.nas.put

        async def slow_put(*arguments, **named):
            await asyncio.sleep(60)
            await put(*arguments, **named)

        shop.nas.put = slow_put
        shop.request()
        shop.start("twin")
        await asyncio.sleep(20)
        shop.start("twin")
        with suppress(AssertionError):
            await shop.until_status(Status.COMPLETED, within_s=3600)
        claims = shop.office.told(e.RenderClaimed)
        assert shop.office.render().status is Status.COMPLETED, f"claimed {len(claims)} times"
        assert len(claims) == 2
        shop.request()
        await shop.until_status(Status.COMPLETED, 2)

    in_shop(story)


@pytest.mark.req("RN-12")
def test_a_fault_that_was_reported_and_not_answered_counts_once(in_shop):
    async def story(shop):
        tries = noted(shop.nexrender, "find", shop.loop)
        shop.nexrender.down = True
        shop.office.swallow = [c.ReportFault]
        shop.request()
        shop.start()
        await shop.until_status(Status.FAILED)
        assert len(tries) == 4, "once, and three more times"

    in_shop(story)


@pytest.mark.req("RN-12")
def test_faults_of_nexrender_that_are_over_do_not_add_up_while_progress_stands_still(in_shop):
    async def story(shop):
        shop.nexrender.script = [([(1, Stage.RENDERING, 90), (1500, Stage.FINISHED, 90)], None, None)]
        shop.request()
        shop.start()
        await shop.until_status(Status.RENDERING)
        for _ in range(5):
            shop.nexrender.down = True
            told = len(shop.office.told(e.RetryScheduled))
            await shop.until(lambda told=told: len(shop.office.told(e.RetryScheduled)) > told)
            shop.nexrender.down = False
            await asyncio.sleep(100)
        await shop.until_status(Status.COMPLETED)

    in_shop(story)


@pytest.mark.req("RN-12")
@pytest.mark.parametrize("hours", [-1, 1])
def test_a_queue_whose_clock_is_an_hour_off_changes_no_wait(in_shop, hours):
    async def story(shop):
        shop.office.skew = timedelta(hours=hours)
        shop.nexrender.down = True
        tries = noted(shop.nexrender, "find", shop.loop)
        shop.request()
        shop.start()
        await shop.until_status(Status.FAILED)
        assert [round(later - earlier) for earlier, later in pairwise(tries)] == [60, 120, 240]

    in_shop(story)


def test_a_render_that_the_queue_cannot_tell_about_is_not_claimed_again_and_again(in_shop):
    async def story(shop):
        tell = shop.office.send

        async def broken(context, command, **how):
            if isinstance(command, c.GetRender):
                return shops.Rejected("INTERNAL", "a bug")
            return await tell(context, command, **how)

        shop.office.send = broken
        shop.request()
        shop.start()
        await asyncio.sleep(60)
        assert len(shop.office.told(e.RenderClaimed)) == 1
        assert shop.office.render().status is Status.FAILED

    in_shop(story)


@pytest.mark.req("RN-05")
def test_work_that_comes_while_a_worker_asks_for_some_is_not_overheard(in_shop):
    async def story(shop):
        ask = shop.office.send

        async def and_then_a_request(context, command, **how):
            outcome = await ask(context, command, **how)
            if isinstance(command, c.Claim) and outcome.result is None and not shop.office.scenario.state.renders:
                shop.request()  # decided after the claim, told before its answer is there
            return outcome

        shop.office.send = and_then_a_request
        shop.start()
        await shop.until(lambda: shop.office.scenario.state.renders)
        asked = shop.loop.time()
        await shop.until(lambda: shop.office.render().status is not Status.PENDING)
        assert shop.loop.time() - asked < 1

    in_shop(story)
