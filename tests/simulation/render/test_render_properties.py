"""Any sequence of commands, in any order, at any time: what the render queue promises holds after each of them."""

from datetime import timedelta

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from drover.domain.decider import Rejection
from drover.domain.errors import Code
from drover.domain.render import commands as c
from drover.domain.render import deadlines
from drover.domain.render.fence import RowFence
from drover.domain.render.policy import Fault, Policy
from drover.domain.render.state import Status
from tests.simulation.render import invariants
from tests.simulation.render.writer import Writer

WORKERS = ["worker-1", "worker-2", "worker-3"]
EXTERNALS = ["own-1", "own-2"]
"""Workers of the users' own, which claim and report by writes of the table."""
COMPOSITIONS = ["comp_chips", "comp_clock"]
POLICIES = [Policy(), Policy(lease_s=90, render_timeout_s=300, retries=1, retry_base_s=5)]
FAULTS = sorted(Fault)
SHA = "ab" * 32
ENDS = ("completed", "failed")


class Studio(Writer, RuleBasedStateMachine):
    """A few workers, some late, some dead; people who request, cancel, release and run again; the clock."""

    @initialize(policy=st.sampled_from(POLICIES))
    def a_studio(self, policy) -> None:
        self.start(policy)
        self.believed: dict[str, list[tuple[int, int]]] = {worker: [] for worker in WORKERS}
        """Every run that a worker was ever given. The last one is what it works on, as far as it knows."""
        self.renders_are_requested(COMPOSITIONS[0], 3)

    # What people do

    @rule(composition=st.sampled_from(COMPOSITIONS), many=st.integers(1, 3), name=st.sampled_from(["", "Named"]))
    def more_is_requested(self, composition, many, name) -> None:
        self.renders_are_requested(composition, many, name)

    def renders_are_requested(self, composition, many, name="") -> None:
        for _ in range(many):
            known = composition in self.queue.compositions or not self.queue.compositions
            before = self.snapshot()
            told = self.send(c.RequestRender(composition, "gfx", '{"ct":"x"}', name, cue_item_id="cue"))
            if known or name:
                assert told["status"] == "pending"
            else:
                assert (told.code, told.details["field"]) == (Code.VALIDATION_ERROR, "composition_id")
                assert self.snapshot() == before
            self.settle_if_it_is_time()

    @precondition(lambda self: self.history.renders)
    @rule(data=st.data(), what=st.sampled_from([c.CancelRender, c.ReleaseRender, c.RerunRender, c.RerunRender]))
    def a_person_handles_a_render(self, data, what) -> None:
        render_id = data.draw(st.sampled_from(sorted(self.history.renders)))
        before, status = self.snapshot(), self.history.renders[render_id].status
        told = self.send(what(render_id))
        if isinstance(told, Rejection):
            assert told.code == Code.CONFLICT
            assert self.snapshot() == before
        if what is c.CancelRender:
            assert isinstance(told, Rejection) is (status in ("completed", "failed", "cancelled"))
        self.settle_if_it_is_time()

    @rule(render_id=st.integers(0, 60), what=st.sampled_from([c.CancelRender, c.ReleaseRender, c.RerunRender]))
    def a_person_mistakes_the_number(self, render_id, what) -> None:
        if render_id not in self.history.renders:
            before = self.snapshot()
            known = render_id in self.history.archived
            assert self.send(what(render_id)).code == (Code.CONFLICT if known else Code.NOT_FOUND)
            assert self.snapshot() == before

    @rule(data=st.data(), composition=st.sampled_from(COMPOSITIONS), name=st.sampled_from(["A", "B"]))
    def an_administrator_changes_compositions(self, data, composition, name) -> None:
        some = [c.DescribeComposition(composition, name=name), c.RemoveComposition(composition)]
        some += [
            c.MapField(composition_id=composition, field_name=f"Single - {name}", layer_name="L"),
            c.MapField(composition_id=composition, field_name=f"Slot 1 - {name}", layer_name="L"),
        ]
        some += [c.ChangeField(mapping_id, layer_name=name) for mapping_id in list(self.queue.mappings)[:3]]
        some += [c.UnmapField(mapping_id) for mapping_id in list(self.queue.mappings)[:3]]
        self.do(data.draw(st.sampled_from(some)))

    # What workers do

    def claim(self, worker: str) -> None:
        told = self.send(c.Claim(worker))
        if told is None:
            assert not any(story.status == "pending" for story in self.history.renders.values())
        else:
            self.believed[worker].append((told["render_id"], told["run"]))
        self.settle_if_it_is_time()

    @rule(worker=st.sampled_from(WORKERS))
    def a_worker_asks_for_work(self, worker) -> None:
        """One that has some has died and come back."""
        self.claim(worker)

    def reports(self, data, hand):
        return data.draw(
            st.sampled_from(
                [
                    c.RenewLease(*hand),
                    c.HandBack(*hand),
                    c.ReportSubmitted(*hand, "nx"),
                    c.ReportSubmitted(*hand, "nx", True),
                    c.ReportProgress(*hand, data.draw(st.integers(-5, 120))),
                    c.ReportProgress(*hand, data.draw(st.integers(0, 100)), "encoding"),
                    c.ReportRendered(*hand),
                    c.ReportUnmapped(*hand, ["Single - x"]),
                    c.ReportFault(*hand, Fault(data.draw(st.sampled_from(FAULTS))), "oh"),
                    c.ReportCompleted(*hand, "/nas/x.mp4", 1, SHA),
                ]
            )
        )

    def say(self, report) -> None:
        """A report in time is taken; a stale one is refused and leaves everything as it was."""
        hand = report.render_id, report.run, report.worker_id
        in_time = self.history.is_current(*hand)
        story = self.history.renders.get(report.render_id)
        said_before = (
            isinstance(report, c.ReportCompleted)
            and story is not None
            and (story.status, story.run) == ("completed", report.run)
        )
        before = self.snapshot()
        told = self.send(report)
        if in_time:
            assert not isinstance(told, Rejection), told
        else:
            assert self.snapshot() == before, "a stale report changed something"
            assert said_before or (isinstance(told, Rejection) and told.code in (Code.STALE_ATTEMPT, Code.NOT_FOUND))
        self.settle_if_it_is_time()

    def hands(self):
        return [(*runs[-1], worker) for worker, runs in sorted(self.believed.items()) if runs]

    @precondition(lambda self: any(self.believed.values()))
    @rule(data=st.data())
    def a_worker_reports_what_it_believes(self, data) -> None:
        self.say(self.reports(data, data.draw(st.sampled_from(self.hands()))))

    @precondition(lambda self: any(self.believed.values()))
    @rule(data=st.data())
    def a_worker_wakes_up_late(self, data) -> None:
        worker = data.draw(st.sampled_from([worker for worker in WORKERS if self.believed[worker]]))
        self.say(self.reports(data, (*data.draw(st.sampled_from(self.believed[worker])), worker)))

    @rule(worker=st.sampled_from(WORKERS), often=st.integers(1, 5), how=st.sampled_from(["dies", "lapses", "released"]))
    def a_render_loses_its_worker_again_and_again(self, worker, often, how) -> None:
        for _ in range(often):
            self.claim(worker)
            render_id = self.queue.held.get(worker)
            if how == "lapses":
                self.pass_time(timedelta(seconds=self.policy.lease_s))
            elif how == "released" and render_id is not None:
                self.do(c.ReleaseRender(render_id))

    @rule(data=st.data(), render_id=st.integers(0, 6), run=st.integers(0, 4), worker=st.sampled_from([*WORKERS, "who"]))
    def somebody_reports_anything(self, data, render_id, run, worker) -> None:
        self.say(self.reports(data, (render_id, run, worker)))

    @rule(data=st.data(), worker=st.sampled_from(WORKERS), stop_after=st.integers(1, 6))
    def a_worker_does_its_work(self, data, worker, stop_after) -> None:
        """As far as it comes: then it is dead, or late, or gives way."""
        if worker not in self.queue.held:
            self.claim(worker)
        if worker not in self.queue.held:
            return
        hand = (*self.believed[worker][-1], worker)
        steps = [
            c.ReportSubmitted(*hand, "nx"),
            c.ReportProgress(*hand, 40),
            c.ReportProgress(*hand, 80, "encoding"),
            c.ReportRendered(*hand),
            c.ReportCompleted(*hand, "/nas/x.mp4", 1, SHA),
        ]
        for step in steps[:stop_after]:
            self.say(step)
            if data.draw(st.integers(0, 9)) == 0:
                self.pass_time(timedelta(seconds=data.draw(st.sampled_from([5, 61, 400]))))

    @rule(worker=st.sampled_from(WORKERS), fault=st.sampled_from(FAULTS), again=st.integers(1, 5))
    def a_fault_comes_again_and_again(self, worker, fault, again) -> None:
        for _ in range(again):
            if worker not in self.queue.held:
                self.claim(worker)
            if worker not in self.queue.held:
                return
            render = self.queue.renders[self.queue.held[worker]]
            self.say(c.ReportFault(render.render_id, render.run, worker, Fault(fault), "oh"))
            self.pass_time(timedelta(seconds=30))

    # What external workers do

    def some_render(self, data) -> int:
        return data.draw(st.sampled_from([*sorted(self.history.renders), 0, 77]))

    def fence(self, data, render_id) -> RowFence | None:
        """None, or what somebody has read of the row: often right, and sometimes late."""
        story = self.history.renders.get(render_id)
        if story is None or data.draw(st.booleans()):
            return None
        late = data.draw(st.integers(0, 3)) == 0
        return RowFence(
            run=data.draw(st.sampled_from([None, story.run + late])),
            status=data.draw(st.sampled_from([None, "pending" if late else story.status])),
            worker_id=story.worker if data.draw(st.booleans()) else None,
            lease_until=story.lease_until if data.draw(st.booleans()) else None,
        )

    def matches(self, render_id, fence) -> bool:
        story = self.history.renders.get(render_id)
        if story is None or fence is None:
            return True
        found = story.run, story.status, story.worker, story.lease_until
        wanted = fence.run, fence.status, fence.worker_id, fence.lease_until
        return all(one is None or one == other for one, other in zip(wanted, found, strict=True))

    def tell(self, command, *, may: bool) -> None:
        """It is taken if it may be; otherwise it is refused and leaves everything as it was."""
        before = self.snapshot()
        told = self.send(command)
        assert isinstance(told, Rejection) is not may, (told, command)
        if not may:
            assert self.snapshot() == before, "a refused write changed something"
        self.settle_if_it_is_time()

    @rule(data=st.data(), worker=st.sampled_from(EXTERNALS), lease_s=st.sampled_from([None, -5, 2, 60, 10**6]))
    def an_external_worker_claims(self, data, worker, lease_s) -> None:
        render_id = self.some_render(data)
        fence, story = self.fence(data, render_id), self.history.renders.get(render_id)
        free = story is not None and story.status == "pending"
        until = None if lease_s is None else self.now + timedelta(seconds=lease_s)
        may = (free or self.history.is_held_by_external(render_id, worker)) and self.matches(render_id, fence)
        self.tell(c.ClaimRender(render_id, worker, until, fence), may=may)

    @rule(
        data=st.data(),
        worker=st.sampled_from([None, *EXTERNALS]),
        status=st.sampled_from([None, "rendering", "encoding", "uploading", "completed", "failed"]),
        job_id=st.sampled_from([None, "job_1", "job_2"]),
        progress=st.sampled_from([None, -5, 0, 45, 100, 120]),
        lease_s=st.sampled_from([None, None, -5, 60, 10**6]),
    )
    def an_external_worker_reports(self, data, worker, status, job_id, progress, lease_s) -> None:
        render_id = self.some_render(data)
        fence, story = self.fence(data, render_id), self.history.renders.get(render_id)
        report = c.ReportWork(
            render_id=render_id,
            status=status,
            worker_id=worker,
            progress=progress,
            nexrender_job_id=job_id,
            lease_until=None if lease_s is None else self.now + timedelta(seconds=lease_s),
            output_file_path="/nas/theirs.mp4",
            only_if=fence,
        )
        said_before = story is not None and story.external and story.status == status and status in ENDS
        may = said_before or self.history.is_held_by_external(render_id, worker)
        self.tell(report, may=may and self.matches(render_id, fence))

    @precondition(lambda self: self.history.renders)
    @rule(data=st.data(), what=st.sampled_from([c.CancelRender, c.ReleaseRender, c.RerunRender]))
    def a_person_writes_what_filters_match(self, data, what) -> None:
        render_id = self.some_render(data)
        fence, before = self.fence(data, render_id), self.snapshot()
        is_current = self.matches(render_id, fence)
        told = self.send(what(render_id, only_if=fence))
        if isinstance(told, Rejection):
            assert self.snapshot() == before
        else:
            assert is_current, "a row that had moved on was changed"
        self.settle_if_it_is_time()

    # Stops

    @rule(data=st.data(), worker=st.sampled_from(WORKERS), done=st.booleans())
    def a_worker_stops_what_must_not_go_on(self, data, worker, done) -> None:
        told = self.do(c.ClaimStop(worker))
        if told is not None and done:
            self.do(c.ReportStopped(told["render_id"], told["uid"], worker))
            assert told["uid"] not in self.queue.stops

    @precondition(lambda self: self.queue.stops)
    @rule(data=st.data(), worker=st.sampled_from(WORKERS))
    def a_stop_fails_for_a_long_time(self, data, worker) -> None:
        for _ in range(22):
            self.do(c.ClaimStop(worker))
            self.pass_time(timedelta(seconds=61))

    @rule(uid=st.sampled_from(["drover-1-1-unknown", "x"]), worker=st.sampled_from(WORKERS))
    def a_stop_that_nobody_asked_for_is_told_done(self, uid, worker) -> None:
        before = self.snapshot()
        self.send(c.ReportStopped(1, uid, worker))
        assert self.snapshot() == before

    # Time

    @rule(seconds=st.sampled_from([1, 5, 30, 60, 95, 310, 600, 1799, 1801]))
    def time_passes(self, seconds) -> None:
        self.pass_time(timedelta(seconds=seconds))

    @rule(seconds=st.sampled_from([60, 1801, 4000]))
    def the_writer_is_away_for_a_while(self, seconds) -> None:
        """All that came due meanwhile is late, and comes at one moment; reports may come before the clock looks."""
        self.now += timedelta(seconds=seconds)

    @rule(often=st.integers(0, 9))
    def a_day_passes(self, often) -> None:
        if often == 0:
            self.pass_time(timedelta(hours=25))

    @rule()
    def the_state_goes_through_a_snapshot(self) -> None:
        before = self.queue
        self.queue = msgspec.msgpack.decode(self.snapshot(), type=self.decider.state)
        assert self.queue == before
        invariants.check(self.queue, self.history, self.policy)

    def teardown(self) -> None:
        """One good worker brings everything to an end; two days later nothing is left in the state."""
        if not hasattr(self, "queue"):
            return
        self.settle()
        for _ in range(1000):
            for worker in WORKERS[1:]:
                if worker in self.queue.held:
                    self.send(c.HandBack(*self.believed[worker][-1], worker))
            for render_id in sorted(self.queue.lent):
                self.send(c.ReleaseRender(render_id))
            told = self.do(c.Claim(WORKERS[0]))
            if told is None:
                break
            hand = told["render_id"], told["run"], WORKERS[0]
            self.believed[WORKERS[0]].append(hand[:2])
            for report in (c.ReportSubmitted(*hand, "nx"), c.ReportCompleted(*hand, "/nas/x.mp4", 1, SHA)):
                self.say(report)
        assert all(render.status in ("completed", "failed", "cancelled") for render in self.queue.renders.values())
        self.pass_time(timedelta(seconds=61))
        while (told := self.do(c.ClaimStop(WORKERS[0]))) is not None:
            self.do(c.ReportStopped(told["render_id"], told["uid"], WORKERS[0]))
        completed = {r.render_id for r in self.queue.renders.values() if r.status is Status.COMPLETED}
        assert completed == self.history.completed.keys() - self.history.archived
        self.pass_time(timedelta(hours=49))
        left = self.queue
        assert (left.renders, left.held, left.lent, left.stops, left.alerts) == ({}, {}, set(), {}, {})
        assert not (left.pending.due or left.stops_due.due or left.timers.due)


class HurriedStudio(Studio):
    """Commands come while the clock is still at work on what came due before."""

    settles_after_each = False


@pytest.fixture
def one_at_a_time(monkeypatch):
    monkeypatch.setattr(deadlines, "DEADLINES_PER_TICK_MAX", 1)


def quietly(examples: int, steps: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[phase for phase in Phase if phase is not Phase.explain],  # it takes minutes, and shrinking says enough
    )


@pytest.mark.req("RN-01", "RN-02", "RN-03", "RN-04", "RN-12", "RN-19", "RN-22", "DI-13", "DI-14")
def test_whatever_happens_the_render_queue_keeps_its_promises():
    run_state_machine_as_test(Studio, settings=quietly(150, 60))


@pytest.mark.req("RN-03", "RN-04", "RN-12")
def test_the_same_holds_while_the_clock_is_still_at_work_on_what_came_before(one_at_a_time):
    run_state_machine_as_test(HurriedStudio, settings=quietly(80, 50))
