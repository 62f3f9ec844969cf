"""Every attempt leaves its whole story in the log, with its number, however it ended."""

import msgspec
import pytest

from drover.domain.decider import Tick
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import CancelJob, MarkOffline, MarkOnline, MarkSilent, PauseJob, ResumeJob
from drover.domain.fleet.events import AttemptEvent, Target
from drover.testing.scenario import Scenario, given
from tests.unit.domain.fleet.world import D1, D2, J1, Work, begin, create, farm, in_hand, work_in_hand


class Told(Scenario):
    """A scenario that keeps what it was told about attempts."""

    def __init__(self) -> None:
        super().__init__(FLEET)
        self.story: list[tuple[str, str, int, int]] = []

    def when(self, command):
        super().when(command)
        self.story += [
            (type(event).__name__.removeprefix("Attempt"), event.device_id, event.run, event.attempt)
            for event in self.decision.events
            if isinstance(event, AttemptEvent)
        ]
        return self

    def of(self, device):
        return [(name, run, attempt) for name, told_of, run, attempt in self.story if told_of == device]


@pytest.mark.req("EV-04", "OQ-09")
def test_the_story_of_an_assignment_that_needed_three_attempts():
    scenario = Told().given(*farm(1)).when(create(J1))
    for run in (1, 2, 3):
        begin(scenario, D1)
        work = work_in_hand(scenario, D1)
        scenario.when(work.completes(run) if run == 3 else work.fails("E2004", run)).after(seconds=10).ticked()
    assert scenario.of(D1) == [
        ("Created", 1, 1),
        ("Sent", 1, 1),
        ("Started", 1, 1),
        ("Failed", 1, 1),
        ("RetryScheduled", 1, 1),
        ("Created", 2, 2),
        ("Sent", 2, 2),
        ("Started", 2, 2),
        ("Failed", 2, 2),
        ("RetryScheduled", 2, 2),
        ("Created", 3, 3),
        ("Sent", 3, 3),
        ("Started", 3, 3),
        ("Succeeded", 3, 3),
    ]


@pytest.mark.req("EV-04", "OQ-09", "OQ-06")
def test_the_story_of_an_assignment_that_timed_out_for_good():
    scenario = Told().given(*farm(1)).when(create(J1))
    for _ in range(3):
        begin(scenario, D1).after(minutes=20).ticked()
    names = [name for name, _, _ in scenario.of(D1)]
    begun = ["Created", "Sent", "Started", "TimedOut"]
    assert names == [*begun, "RetryScheduled", *begun, "RetryScheduled", *begun, "FailedFinal"]
    assert scenario.of(D1)[-1] == ("FailedFinal", 3, 3)


@pytest.mark.req("EV-04", "OQ-09", "DF-05")
def test_the_story_of_an_attempt_that_was_rolled_back_and_of_one_that_was_cancelled():
    scenario = Told().given(*farm(2)).when(create(J1))
    begin(scenario, D1).when(MarkSilent(D1)).when(MarkOnline(D1)).when(CancelJob(J1))
    assert scenario.of(D1) == [
        ("Created", 1, 1),
        ("Sent", 1, 1),
        ("Started", 1, 1),
        ("RolledBack", 1, 1),
        ("Created", 2, 1),
        ("Cancelled", 2, 1),
    ]
    assert scenario.of(D2) == [("Created", 1, 1), ("Cancelled", 1, 1)]


@pytest.mark.req("EV-04", "DF-03")
def test_the_fence_rises_with_every_delivery_and_the_attempt_only_with_failures():
    scenario = Told().given(*farm(1)).when(create(J1))
    for _ in range(2):
        begin(scenario, D1).when(MarkSilent(D1)).when(MarkOnline(D1))
    begin(scenario, D1)
    work = Work(D1)
    scenario.when(work.fails("E2004", 3)).after(seconds=10).ticked()
    assert (in_hand(scenario, D1).run, in_hand(scenario, D1).attempt) == (4, 2)


@pytest.mark.req("EV-04")
def test_the_same_history_gives_the_same_state():
    """A restart folds the log again: nothing may depend on anything but the events."""
    live = Told().given(*farm(3, capacity=2))
    log = []

    def record(command):
        live.when(command)
        log.extend((event, live.now) for event in live.decision.events)

    record(create(J1))
    for device in (D1, D2):
        work = work_in_hand(live, device)
        for command in (work.fetch(), work.runs(progress_pct=30), work.fails("E1001")):
            record(command)
    live.after(seconds=5)
    record(Tick())
    record(MarkOffline(D1))
    record(MarkOnline(D1))
    record(PauseJob(J1))
    record(ResumeJob(J1))
    again = given(FLEET, *farm(3, capacity=2))
    for event, now in log:
        again.now = now
        again.given(event)
    assert again.state == live.state


def test_the_state_survives_a_snapshot():
    scenario = given(FLEET, *farm(3, capacity=2)).when(create(J1, target=Target(count=2)))
    begin(scenario, D1).when(work_in_hand(scenario, D1).completes())
    begin(scenario, D2).when(work_in_hand(scenario, D2).fails())
    kept = msgspec.msgpack.encode(scenario.state)
    scenario.state = msgspec.msgpack.decode(kept, type=FLEET.state)
    assert msgspec.msgpack.encode(scenario.state) == kept
    scenario.after(seconds=5).ticked().then(Work(D2, number=2).created(run=2))
