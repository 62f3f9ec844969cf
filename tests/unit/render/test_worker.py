"""A worker on virtual time: from the claim to the file on the NAS, and every fault of RN-12 on the way."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from drover.domain.render import commands as c
from drover.domain.render import events as e
from drover.domain.render.state import Status
from drover.nas.naming import final_name
from drover.render.metrics import JOB_DURATION
from drover.render.nexrender.states import Stage

STUCK = [(5, Stage.RENDERING, 90)]


def final(shop, render_id=1):
    render = shop.office.render(render_id)
    return final_name(render.broadcast_date, render.composition, render_id)


@pytest.mark.req("RN-01", "RN-03", "RN-09", "RN-11")
def test_a_render_goes_through_all_stages_and_its_file_is_on_the_nas(in_shop):
    async def story(shop):
        shop.request()
        shop.start()
        await shop.until_status(Status.COMPLETED)
        kinds = [type(event) for event in shop.office.events if isinstance(event, e.RenderEvent)]
        assert kinds == [
            e.RenderRequested,
            e.RenderClaimed,
            e.RenderSubmitted,
            e.RenderProgressed,
            e.EncodingStarted,
            e.UploadStarted,
            e.RenderCompleted,
        ]
        (done,) = shop.office.told(e.RenderCompleted)
        assert done.output_file_path == f"/nas/{final(shop)}"
        assert shop.nas.stored == {final(shop): f"film {shop.office.render().uid}".encode()}
        assert shop.folders.discarded == [shop.office.render().uid], "nothing is left on the worker's disk"

    in_shop(story)


@pytest.mark.req("RN-09")
def test_progress_never_decides_that_a_render_is_done(in_shop):
    async def story(shop):
        shop.nexrender.script = [([(5, Stage.RENDERING, 100), (600, Stage.FINISHED, 90)], None, None)]
        shop.request()
        shop.start()
        await shop.until(lambda: shop.office.told(e.RenderProgressed))
        await asyncio.sleep(300)
        assert shop.office.render().status is Status.RENDERING
        await shop.until_status(Status.COMPLETED)

    in_shop(story)


@pytest.mark.req("RN-12")
def test_nexrender_that_is_down_is_tried_again_after_60_120_and_240_seconds(in_shop):
    async def story(shop):
        shop.nexrender.down = True
        shop.request()
        shop.start()
        await shop.until_status(Status.FAILED)
        retries = shop.office.told(e.RetryScheduled)
        assert [(r.due_at - r.at).total_seconds() for r in retries] == [60, 120, 240]
        (failed,) = shop.office.told(e.RenderFailed)
        assert failed.fault == "NEXRENDER_DOWN"
        assert (failed.at - retries[0].at).total_seconds() == pytest.approx(420, abs=1)

    in_shop(story)


@pytest.mark.req("RN-12")
def test_nexrender_that_comes_back_costs_only_the_wait(in_shop):
    async def story(shop):
        shop.nexrender.down = True
        shop.request()
        shop.start()
        await shop.until(lambda: shop.office.told(e.RetryScheduled))
        shop.nexrender.down = False
        await shop.until_status(Status.COMPLETED)
        assert len(shop.nexrender.submissions) == 1
        assert shop.office.render().retries == {}

    in_shop(story)


@pytest.mark.req("RN-08")
def test_a_short_silence_of_nexrender_while_it_renders_is_no_fault(in_shop):
    async def story(shop):
        shop.request()
        shop.start()
        await shop.until_status(Status.RENDERING)
        shop.nexrender.down = True
        await asyncio.sleep(9)
        shop.nexrender.down = False
        await shop.until_status(Status.COMPLETED)
        assert not shop.office.told(e.RetryScheduled)

    in_shop(story)


@pytest.mark.req("RN-12")
def test_a_render_that_takes_30_minutes_is_cancelled_and_run_again_twice(in_shop):
    async def story(shop):
        shop.nexrender.script = [(STUCK, None, None)] * 3
        shop.request()
        shop.start()
        await shop.until_status(Status.FAILED)
        again = shop.office.told(e.RenderRequeued)
        assert [event.reason for event in again] == ["RENDER_TIMEOUT", "RENDER_TIMEOUT"]
        submitted = shop.office.told(e.RenderSubmitted)
        assert len({event.uid for event in submitted}) == 3
        assert (again[0].at - submitted[0].at).total_seconds() == 1800
        await shop.stop_outstanding()
        assert shop.nexrender.removed == [event.uid for event in submitted], "all three are stopped there"

    in_shop(story)


@pytest.mark.req("RN-12")
def test_a_template_that_is_missing_fails_at_once_and_raises_an_alert(in_shop):
    async def story(shop):
        error = "Error: ENOENT: no such file or directory, open '/templates/poker.aep'"
        shop.nexrender.script = [([(1, Stage.ERROR, 0)], error, None)]
        shop.request()
        shop.start()
        await shop.until_status(Status.FAILED)
        (failed,) = shop.office.told(e.RenderFailed)
        assert failed.fault == "TEMPLATE_MISSING"
        assert "template_missing:comp" in shop.office.scenario.state.alerts

    in_shop(story)


@pytest.mark.req("RN-10", "RN-12", "RN-24")
@pytest.mark.parametrize(("bad_checks", "status"), [(2, Status.COMPLETED), (3, Status.FAILED)])
def test_a_bad_file_is_checked_three_times_60_seconds_apart(in_shop, bad_checks, status):
    async def story(shop):
        shop.files.valid_after = bad_checks
        shop.request()
        shop.start()
        await shop.until_status(status)
        assert shop.files.checks == 3
        retries = shop.office.told(e.RetryScheduled)
        assert [(r.due_at - r.at).total_seconds() for r in retries] == [60, 60]
        assert retries[0].message == "File too small: 7 bytes"

    in_shop(story)


@pytest.mark.req("RN-12")
@pytest.mark.parametrize(("failing", "status"), [(3, Status.COMPLETED), (4, Status.FAILED)])
def test_a_nas_that_is_away_is_tried_again_three_times_30_seconds_apart(in_shop, failing, status):
    async def story(shop):
        shop.nas.away = failing
        shop.request()
        shop.start()
        await shop.until_status(status)
        retries = shop.office.told(e.RetryScheduled)
        assert [(r.fault, (r.due_at - r.at).total_seconds()) for r in retries] == [("NAS_AWAY", 30)] * 3
        assert len(shop.nexrender.submissions) == 1, "the render itself is not done again"

    in_shop(story)


@pytest.mark.req("RN-02")
@pytest.mark.parametrize("status", [Status.RENDERING, Status.ENCODING])
def test_cancelling_stops_the_worker_at_once_and_the_job_at_nexrender(in_shop, status):
    async def story(shop):
        shop.request()
        shop.start()
        await shop.until_status(status)
        shop.office.do(c.CancelRender(1))
        cancelled_at = shop.loop.time()
        await shop.until(lambda: shop.crew.workers[0].run is None)
        assert shop.loop.time() - cancelled_at < 1
        await shop.stop_outstanding()
        assert shop.nexrender.removed == [shop.office.render().uid]
        assert not shop.nas.stored

    in_shop(story)


@pytest.mark.req("RN-02")
@pytest.mark.parametrize("moment", ["put", "publish"])
def test_a_render_that_is_cancelled_while_its_file_is_delivered_leaves_no_file(in_shop, moment):
    async def story(shop):
        call = getattr(shop.nas, moment)

        async def and_cancel(*arguments, **named):
            result = await call(*arguments, **named)
            shop.office.on_events = lambda events: None  # nobody tells the worker
            shop.office.do(c.CancelRender(1))
            return result

        setattr(shop.nas, moment, and_cancel)
        shop.request()
        shop.start()
        await shop.until_status(Status.CANCELLED)
        await shop.until(lambda: shop.crew.workers[0].run is None)
        assert not await shop.nas.temporaries()
        await shop.stop_outstanding()
        assert not shop.nas.stored

    in_shop(story)


@pytest.mark.req("RN-04")
def test_a_worker_at_work_renews_its_lease_and_keeps_its_render_for_hours(in_shop):
    async def story(shop):
        shop.request()
        shop.nas.away = 10_000
        shop.start()
        await shop.until_status(Status.UPLOADING)
        shop.nas.away, waited = 0, asyncio.Event()
        shop.nas.in_put = lambda temporary: waited.wait()
        await asyncio.sleep(4 * 3600)
        assert shop.office.render().run == 1
        assert len(shop.office.told(e.LeaseRenewed)) >= 4 * 6 - 1
        waited.set()
        await shop.until_status(Status.COMPLETED)

    in_shop(story)


@pytest.mark.req("RN-04")
def test_a_worker_that_wakes_up_after_its_lease_lapsed_is_refused_and_the_winners_file_stays(in_shop):
    async def story(shop):
        shop.request()
        asleep = asyncio.Event()

        async def sleep_once(temporary):
            if not asleep.is_set():
                asleep.set()
                await asyncio.sleep(7200)

        shop.nas.in_put = sleep_once
        late = shop.worker("w1")
        renew = late.queue.renew

        async def no_renewal(run):
            await asyncio.sleep(7200)  # the whole process hung, its renewals too
            await renew(run)

        late.queue.renew = no_renewal
        shop.office.on_events = lambda events: None
        shop._tasks.append(asyncio.create_task(late.work()))
        shop._tasks.append(asyncio.create_task(shop.office.clock()))
        await shop.until(asleep.is_set)
        await shop.until(lambda: shop.office.told(e.RenderRequeued))
        winner = asyncio.create_task(shop.worker("w2").work())
        shop._tasks.append(winner)
        await shop.until_status(Status.COMPLETED)
        stored = dict(shop.nas.stored)
        await asyncio.sleep(8000)
        assert shop.office.render().run == 2
        assert [(event.run, event.worker_id) for event in shop.office.told(e.StaleRunRefused)] == [(1, "w1")]
        assert {path: shop.nas.stored[path] for path in shop.nas.stored} == stored
        assert list(stored) == [final(shop)]

    in_shop(story)


@pytest.mark.req("RN-04", "RN-03")
def test_a_worker_that_died_and_came_back_goes_on_with_its_job_at_nexrender(in_shop):
    async def story(shop):
        shop.request()
        killed = shop.start()
        await shop.until_status(Status.RENDERING)
        shop.office.deaf = True  # so that it cannot hand anything back, as after kill -9
        killed.cancel()
        await asyncio.gather(killed, return_exceptions=True)
        shop.office.deaf = False
        shop.start()
        await shop.until_status(Status.COMPLETED)
        assert len(shop.nexrender.submissions) == 1
        assert shop.office.told(e.RenderClaimed)[-1].resumed
        assert shop.office.told(e.RenderSubmitted)[-1].found

    in_shop(story)


@pytest.mark.req("RN-04")
def test_a_worker_that_is_stopped_hands_its_render_back(in_shop):
    async def story(shop):
        shop.request()
        stopped = shop.start("w1")
        await shop.until_status(Status.RENDERING)
        stopped.cancel()
        await asyncio.gather(stopped, return_exceptions=True)
        assert shop.office.render().status is Status.PENDING
        assert shop.office.render().recovery_count == 0
        shop.start("w2")
        await shop.until_status(Status.COMPLETED)
        assert len(shop.nexrender.submissions) == 1

    in_shop(story)


@pytest.mark.req("RN-06")
def test_fields_without_a_layer_are_reported_and_the_rest_is_rendered(in_shop):
    async def story(shop):
        shop.request({"slots": [{"fields": {"name": "PHIL IVEY", "hat": "white"}}]})
        shop.start()
        await shop.until_status(Status.COMPLETED)
        (told,) = shop.office.told(e.FieldsUnmapped)
        assert told.fields == ["Slot 1 - hat"]
        (document,) = shop.nexrender.submissions
        assert [asset["value"] for asset in document["assets"]] == ["PHIL IVEY"]

    in_shop(story)


@pytest.mark.req("RN-13")
def test_a_mapping_that_was_changed_is_used_by_the_next_render_whatever_is_remembered(in_shop):
    async def story(shop):
        shop.request()
        shop.start()
        await shop.until_status(Status.COMPLETED)
        shop.office.do(c.ChangeField(1, layer_name="Name One"))
        shop.request()
        await shop.until_status(Status.COMPLETED, 2)
        assert [document["assets"][0]["layerName"] for document in shop.nexrender.submissions] == ["Name 1", "Name One"]

    in_shop(story)


@pytest.mark.req("RN-05")
def test_a_worker_is_told_of_new_work_and_does_not_wait_for_its_next_poll(in_shop):
    async def story(shop):
        shop.start()
        await asyncio.sleep(3605)  # a poll has just been, and the next is 25 s away
        shop.request()
        asked = shop.loop.time()
        await shop.until(lambda: shop.office.render().status is not Status.PENDING)
        assert shop.loop.time() - asked < 1

    in_shop(story)


@pytest.mark.req("RN-05")
def test_a_worker_that_is_told_nothing_polls_every_ten_seconds_then_every_thirty(in_shop):
    async def story(shop):
        worker = shop.worker()
        polls = []
        claim = worker.queue.claim

        async def noted():
            polls.append(shop.loop.time())
            return await claim()

        worker.queue.claim = noted
        shop._tasks.append(asyncio.create_task(worker.work()))
        await asyncio.sleep(300)
        gaps = [later - earlier for earlier, later in pairwise(polls)]
        assert gaps[:9] == pytest.approx([10] * 9)
        assert gaps[9:] == pytest.approx([30] * len(gaps[9:]))

    in_shop(story)


@pytest.mark.req("RN-02", "RN-12")
def test_nobody_answers_for_the_queue_for_a_while_and_the_work_goes_on(in_shop):
    async def story(shop):
        shop.request()
        shop.start()
        await shop.until_status(Status.RENDERING)
        shop.office.deaf = True
        await asyncio.sleep(120)
        shop.office.deaf = False
        await shop.until_status(Status.COMPLETED)
        assert len(shop.nexrender.submissions) == 1
        assert shop.office.render().run == 1

    in_shop(story)


def test_a_fault_of_the_worker_itself_fails_the_render_and_does_not_take_it_for_ever(in_shop):
    async def story(shop):
        async def broken(path):
            raise ValueError("a bug")

        object.__setattr__(shop.workshop, "validate", broken)
        shop.request()
        shop.start()
        await shop.until_status(Status.FAILED)
        (failed,) = shop.office.told(e.RenderFailed)
        assert "a bug" in failed.message

    in_shop(story)


@pytest.mark.req("RN-14")
def test_the_duration_of_a_render_is_observed_from_its_started_at(in_shop):
    def observed():
        return {sample.name: sample.value for sample in next(iter(JOB_DURATION.collect())).samples}

    async def story(shop):
        before = observed()
        shop.nexrender.down = True  # the claim is long before nexrender accepts the job
        shop.request()
        shop.start()
        await asyncio.sleep(100)
        shop.nexrender.down = False
        await shop.until_status(Status.COMPLETED)
        await shop.until(lambda: shop.crew.workers[0].completed == 1)
        (completed,), (submitted,) = shop.office.told(e.RenderCompleted), shop.office.told(e.RenderSubmitted)
        seconds = (completed.at - submitted.at).total_seconds()
        name = "render_job_duration_seconds"
        assert observed()[f"{name}_count"] - before[f"{name}_count"] == 1
        assert observed()[f"{name}_sum"] - before[f"{name}_sum"] == pytest.approx(seconds)
        assert seconds < 60 < (completed.at - shop.office.told(e.RenderClaimed)[0].at).total_seconds()

    in_shop(story)


@pytest.mark.req("RN-05")
def test_an_idle_worker_polls_at_once_on_demand(in_shop):
    async def story(shop):
        shop.start()
        await asyncio.sleep(3605)  # the next poll is 25 s away
        shop.crews.clear()  # nobody tells the worker of the request
        crew = shop.crew
        shop.request()
        await asyncio.sleep(2)
        assert shop.office.render().status is Status.PENDING
        asked = shop.loop.time()
        assert crew.poll_now()
        assert not crew.poll_now(), "once a second, whoever asks"
        await shop.until(lambda: shop.office.render().status is not Status.PENDING)
        assert shop.loop.time() - asked < 1

    in_shop(story)
