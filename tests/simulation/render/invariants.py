"""What must hold of the render queue at any moment, found anew from the plain facts, without the decider's indices."""

from collections import Counter

from drover.domain.render import evolution
from drover.domain.render.alerts import NO_WORKER_KEY
from drover.domain.render.policy import ARCHIVE_AFTER, RECOVERIES_QUIET, STOP_TRIES_MAX, Fault, Policy
from drover.domain.render.state import ENDED, WORKING, RenderQueue, Status
from drover.domain.render.timer_keys import archive_timer
from drover.domain.timers import Timers
from tests.simulation.render.history import History


def check(queue: RenderQueue, history: History, policy: Policy) -> None:
    _check_renders(queue, history, policy)
    _check_waiting(queue)
    _check_stops(queue, history)
    _check_timers(queue, history)
    _check_alerts(queue, history)
    _check_past(queue)
    _check_mappings(queue)


def _check_renders(queue: RenderQueue, history: History, policy: Policy) -> None:
    assert queue.renders.keys() == history.renders.keys()
    for render_id, render in queue.renders.items():
        story = history.renders[render_id]
        assert render.render_id == render_id
        assert (render.status, render.run, render.worker_id) == (story.status, story.run, story.worker)
        assert (render.uid, render.generation, render.recovery_count) == (
            story.uid,
            story.generation,
            story.recovery_count,
        )
        assert render.touched is (render.uid in history.touched)
        assert render.lease_until == story.lease_until
        assert (render.leased_at is None) is (render.lease_until is None)
        assert (render.external, render.handled) == (story.external, story.handled)
        assert (render.status in WORKING) is (render.worker_id is not None) is (render.lease_until is not None)
        assert (render.gfx_data == "") is (render.sha256 is not None) is (render.status is Status.COMPLETED)
        assert 0 <= render.progress <= 100
        assert all(count <= policy.rule(Fault(fault)).retries for fault, count in render.retries.items())
    working = [render for render in queue.renders.values() if render.status in WORKING]
    by_worker = Counter(render.worker_id for render in working if not render.external)
    assert all(count == 1 for count in by_worker.values()), "a worker has two renders"
    assert queue.held == {r.worker_id: r.render_id for r in working if not r.external}
    assert queue.lent == {r.render_id for r in working if r.external}


def _check_waiting(queue: RenderQueue) -> None:
    waiting = {r.render_id: r.requested_at for r in queue.renders.values() if r.status is Status.PENDING}
    assert {int(key): since for key, since in queue.pending.due.items()} == waiting
    first = queue.pending.first()
    oldest = min(((since, render_id) for render_id, since in waiting.items()), default=None)
    assert (first and (first[0], int(first[1]))) == oldest, "the oldest is not the first"


def _check_stops(queue: RenderQueue, history: History) -> None:
    assert {uid: stop.tries for uid, stop in queue.stops.items()} == history.owed
    assert queue.stops.keys() == queue.stops_due.due.keys()
    assert all(stop.tries <= STOP_TRIES_MAX for stop in queue.stops.values())
    _check_first(queue.stops_due)
    live = {r.uid for r in queue.renders.values() if r.status not in ENDED}
    assert not live & queue.stops.keys(), "a job that is wanted is to be stopped"
    accounted = live | set(history.completed.values()) | history.stopped | queue.stops.keys()
    assert history.touched <= accounted, "a job at nexrender goes on behind everybody's back"
    for uid, stop in queue.stops.items():
        render = queue.renders.get(stop.render_id)
        if stop.discard and render is not None:
            assert (render.uid, render.status) == (uid, Status.CANCELLED), "a file that is wanted would be discarded"


def _check_timers(queue: RenderQueue, history: History) -> None:
    expected = {}
    for render_id, story in history.renders.items():
        expected[f"e:{render_id}"] = story.lease_until
        expected[f"t:{render_id}"] = story.timeout_at
        expected[f"x:{render_id}"] = story.ended_at and story.ended_at + ARCHIVE_AFTER
    expected |= {f"l:{key}": until for key, until in history.alerts.items()}
    waits = any(story.status == "pending" for story in history.renders.values())
    expects = waits is not (NO_WORKER_KEY in history.alerts)
    assert ("w:workers" in queue.timers.due) is expects, "something waits: a missing worker will be noticed, or is"
    found = {key: moment for key, moment in queue.timers.due.items() if key != "w:workers"}
    assert found == {key: moment for key, moment in expected.items() if moment is not None}
    _check_first(queue.timers)


def _check_past(queue: RenderQueue) -> None:
    """The state has no ended renders but those of the window, and those that leave within minutes."""
    ended = {archive_timer(r.render_id): r for r in queue.renders.values() if r.status in ENDED}
    past = queue.past
    assert past.sizes.keys() <= ended.keys()
    assert past.size == len(past.sizes) <= max(1, evolution.PAST_RENDERS_MAX)
    assert len(past.sizes) == min(len(ended), evolution.PAST_RENDERS_MAX) or ended.keys() - past.sizes.keys()


def _check_first(timers: Timers) -> None:
    first = timers.first()
    assert (first[0] if first else None) == min(timers.due.values(), default=None)


def _check_alerts(queue: RenderQueue, history: History) -> None:
    assert queue.alerts.keys() == history.alerts.keys()
    for key in queue.alerts:
        kind, _, subject = key.partition(":")
        if kind == "render_recovering":
            render = queue.renders[int(subject)]
            assert render.status not in ENDED, "an alert about what has ended"
            assert render.recovery_count + render.resumes > RECOVERIES_QUIET
        elif key != NO_WORKER_KEY:
            assert history.alerts[key] is not None, "an alert that nothing would end"


def _check_mappings(queue: RenderQueue) -> None:
    found = {
        field.mapping_id: (composition_id, name)
        for composition_id, composition in queue.compositions.items()
        for name, field in composition.fields.items()
    }
    assert queue.mappings == found
    assert all(0 < mapping_id <= queue.last_mapping_id for mapping_id in found)
    versions = [composition.version for composition in queue.compositions.values()]
    assert len(set(versions)) == len(versions)
    assert all(0 < version <= queue.mapping_version for version in versions)
