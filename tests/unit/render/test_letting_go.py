"""Whoever loses a render leaves nothing behind, on the NAS or at nexrender, and takes nothing of the one who has it."""

from __future__ import annotations

import asyncio

import pytest

from drover.domain.render import commands as c
from drover.domain.render import events as e
from drover.domain.render.state import Status
from drover.nas.naming import final_name, temporary_name
from drover.nas.store import NasAway
from drover.render.nexrender.states import Stage
from tests.unit.render.shop import stuck_in


def final(shop, render_id=1):
    render = shop.office.render(render_id)
    return final_name(render.broadcast_date, render.composition, render_id)


def idle(shop):
    return lambda: shop.crew.workers[0].run is None


def finishing(port, name):
    """The next call does what it should although its caller is cancelled: as a thread does, which cannot be ended."""
    call = getattr(port, name)
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def to_its_end(*arguments, **named):
        setattr(port, name, call)
        begun.set()
        try:
            await may_end.wait()
        except asyncio.CancelledError:
            await call(*arguments, **named)
            raise
        return await call(*arguments, **named)

    setattr(port, name, to_its_end)
    return begun


@pytest.mark.req("RN-02")
def test_a_file_that_is_published_just_as_its_render_is_cancelled_does_not_stay(in_shop):
    async def story(shop):
        shop.request()
        shop.start()
        publishing = finishing(shop.nas, "publish")
        await shop.until(publishing.is_set)
        silence, shop.office.on_events = shop.office.on_events, lambda events: None
        shop.office.do(c.CancelRender(1))
        stopping = shop.spawn(shop.stop_outstanding())
        await asyncio.sleep(1)  # there is no file yet
        silence([shop.office.events[-1], *shop.office.told(e.RenderCancelled)])
        await shop.until(idle(shop))
        await asyncio.gather(stopping)
        assert not shop.nas.stored

    in_shop(story)


@pytest.mark.req("RN-02")
def test_the_same_while_the_worker_is_stopped(in_shop):
    async def story(shop):
        shop.request()
        worker = shop.start()
        publishing = finishing(shop.nas, "publish")
        await shop.until(publishing.is_set)
        shop.office.on_events = lambda events: None
        shop.office.do(c.CancelRender(1))
        stopping = shop.spawn(shop.stop_outstanding())
        await asyncio.sleep(1)
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)
        assert shop.nas.stored, "it was published at the last moment"
        await asyncio.gather(stopping)
        assert not shop.nas.stored

    in_shop(story)


@pytest.mark.req("RN-02", "RN-08")
@pytest.mark.parametrize("told", [True, False])
def test_a_job_that_reaches_nexrender_after_its_render_was_cancelled_is_taken_back(in_shop, told):
    async def story(shop):
        submitting = stuck_in(shop.nexrender, "submit", lands=True)
        shop.request()
        shop.start()
        await shop.until(submitting.reached.is_set)
        if not told:
            shop.office.on_events = lambda events: None
        shop.office.do(c.CancelRender(1))
        await shop.stop_outstanding()  # nexrender knows of nothing yet
        await asyncio.sleep(3)
        submitting.go_on.set()
        await shop.until(idle(shop))
        assert shop.nexrender.submissions
        assert not shop.nexrender.jobs

    in_shop(story)


@pytest.mark.req("RN-03", "RN-08")
def test_a_job_that_a_former_worker_is_just_submitting_is_not_submitted_twice(in_shop):
    async def story(shop):
        submitting = stuck_in(shop.nexrender, "submit", lands=True)
        shop.request()
        shop.start("w1")
        await shop.until(submitting.reached.is_set)
        shop.start("w2")
        shop.office.do(c.ReleaseRender(1))
        await asyncio.sleep(3)
        submitting.go_on.set()
        await shop.until_status(Status.COMPLETED)
        assert len(shop.nexrender.submissions) == 1

    in_shop(story)


@pytest.mark.req("RN-08", "RN-12")
@pytest.mark.parametrize("moment", ["find", "make"])
def test_a_worker_that_slept_before_it_submitted_asks_again_whether_it_may(in_shop, moment):
    """A duplicate uid would be rendered again and again."""

    async def story(shop):
        late = shop.worker("w1")
        late.queue.renew = lambda run: asyncio.sleep(1e9)  # the whole process sleeps
        shop.crews.clear()
        sleeping = (
            stuck_in(shop.folders, "make", shop.workshop) if moment == "make" else stuck_in(shop.nexrender, "find")
        )
        shop.request()
        shop.spawn(late.work())
        shop.spawn(shop.office.clock())
        await shop.until(sleeping.reached.is_set)
        await shop.until(lambda: shop.office.told(e.RenderRequeued))
        shop.start("w2")
        await shop.until_status(Status.RENDERING)
        shop.nexrender.jobs.clear()  # so that even a look would not tell
        sleeping.go_on.set()
        await shop.until_status(Status.COMPLETED)
        uids = [document["uid"] for document in shop.nexrender.submissions]
        assert len(uids) == len(set(uids))

    in_shop(story)


@pytest.mark.req("RN-08", "RN-12")
def test_a_job_that_a_dead_worker_left_at_nexrender_is_removed_by_the_sweep(in_shop):
    async def story(shop):
        submitting = stuck_in(shop.nexrender, "submit")
        shop.request()
        worker = shop.start()
        await shop.until(submitting.reached.is_set)
        uid = shop.office.render().uid
        await shop.kill(worker)
        shop.office.do(c.CancelRender(1))
        await shop.stop_outstanding()
        shop.folders.made.append(f"{uid}")  # and then it lands, is rendered, and its folder is there
        shop.folders.discarded.clear()
        shop.nexrender.jobs[uid] = (0, [(1, Stage.FINISHED, 90)], None)
        await shop.sweep()
        assert not shop.nexrender.jobs

    in_shop(story)


@pytest.mark.req("RN-04", "RN-11")
def test_a_worker_that_slept_before_it_made_room_for_its_file_does_not_remove_the_winners(in_shop):
    async def story(shop):
        shop.request()
        worker = shop.worker("w1")
        worker.queue.renew = lambda run: asyncio.sleep(1e9)  # the whole process sleeps
        shop.office.on_events = lambda events: None
        earlier = shop.office.render()
        shop.nas.stored[final(shop)] = b"of an earlier try"
        removing = stuck_in(shop.nas, "remove")
        shop.spawn(worker.work())
        shop.spawn(shop.office.clock())
        await shop.until(removing.reached.is_set)
        await shop.until(lambda: shop.office.told(e.RenderRequeued))
        shop.spawn(shop.worker("w2").work())
        await shop.until_status(Status.COMPLETED)
        removing.go_on.set()
        await asyncio.sleep(100)
        assert shop.nas.stored == {final(shop): f"film {earlier.uid}".encode()}

    in_shop(story)


@pytest.mark.req("RN-02", "RN-11")
def test_whoever_stops_a_render_too_late_does_not_remove_the_file_of_its_next_run(in_shop):
    async def story(shop):
        shop.request()
        shop.start()
        await shop.until_status(Status.RENDERING)
        shop.office.do(c.CancelRender(1))
        removing = stuck_in(shop.nexrender, "remove")
        late = shop.spawn(shop.stop_outstanding())
        await shop.until(removing.reached.is_set)
        await asyncio.sleep(61)
        assert await shop.stop_outstanding() == 1, "another one has done it"
        shop.office.do(c.RerunRender(1))
        await shop.until_status(Status.COMPLETED)
        removing.go_on.set()
        await asyncio.gather(late)
        assert list(shop.nas.stored) == [final(shop)]

    in_shop(story)


@pytest.mark.req("RN-02")
def test_a_render_that_is_cancelled_before_its_new_job_began_leaves_no_file_of_the_old_one(in_shop):
    async def story(shop):
        shop.request()
        worker = shop.start()
        reporting = stuck_in(shop.crew.workers[0].queue, "completed")
        await shop.until(reporting.reached.is_set)
        assert final(shop) in shop.nas.stored
        await shop.kill(worker)
        shop.nexrender.jobs.clear()  # it has forgotten all of them, and again in the middle of the next
        worker = shop.start()
        await shop.until_status(Status.RENDERING)
        shop.nexrender.jobs.clear()
        claimed = len(shop.office.told(e.RenderClaimed))
        shop.office.on_events = lambda events: worker.cancel() if isinstance(events[0], e.RenderRequeued) else None
        await asyncio.gather(worker, return_exceptions=True)
        assert (shop.office.render().generation, len(shop.office.told(e.RenderClaimed))) == (2, claimed)
        shop.office.do(c.CancelRender(1))
        await shop.stop_outstanding()
        assert not shop.nas.stored

    in_shop(story)


@pytest.mark.req("RN-11")
def test_a_strange_name_on_the_nas_does_not_keep_the_sweep_from_the_rest(in_shop):
    async def story(shop):
        shop.request()
        shop.start()
        await shop.until_status(Status.COMPLETED)
        remove = shop.nas.remove
        strange = temporary_name(final(shop).with_name("a:b_1.mp4"), 1)
        orphan = temporary_name(final(shop), 1)

        async def picky(path, **named):
            if path == strange:
                raise ValueError("not a path inside the store")
            await remove(path, **named)

        shop.nas.remove = picky
        nobodys = final(shop).with_name(".x_9999999999999999999.mp4.run1.part")
        shop.nas.stored |= {strange: b"", nobodys: b"", orphan: b""}
        shop.folders.made.append("drover-1-9-00000000")
        await shop.sweep()
        assert orphan not in shop.nas.stored
        assert "drover-1-9-00000000" in shop.folders.discarded

    in_shop(story)


@pytest.mark.req("RN-11")
def test_a_nas_that_is_away_does_not_keep_the_sweep_from_the_local_folder(in_shop):
    async def story(shop):
        async def away():
            raise NasAway("list", ".", "unreachable")

        shop.nas.temporaries = away
        shop.folders.made.append("drover-1-9-00000000")
        await shop.sweep()
        assert shop.folders.discarded == ["drover-1-9-00000000"]

    in_shop(story)


@pytest.mark.req("SE-09")
def test_nexrender_keeps_nothing_of_a_completed_render(in_shop):
    """Its jobs have gfx_data in clear text, which no erasure reaches."""

    async def story(shop):
        shop.request()
        shop.start()
        await shop.until_status(Status.COMPLETED)
        await shop.until(lambda: not shop.nexrender.jobs)
        assert shop.nexrender.removed == [shop.office.render().uid]

    in_shop(story)


@pytest.mark.req("SE-09")
def test_the_job_of_a_completed_render_is_removed_later_if_nexrender_is_away_then(in_shop):
    async def story(shop):
        def go_away(events):
            if isinstance(events[0], e.RenderCompleted):
                shop.nexrender.down = True

        shop.office.on_events = go_away
        shop.request()
        shop.start()
        await shop.until_status(Status.COMPLETED)
        uid = shop.office.render().uid
        shop.folders.made.append(uid)
        await asyncio.sleep(60)
        assert uid in shop.nexrender.jobs
        assert uid not in shop.folders.discarded, "a sweep finds the job by its folder"
        shop.nexrender.down = False
        await shop.sweep()
        assert not shop.nexrender.jobs
        assert uid in shop.folders.discarded

    in_shop(story)
