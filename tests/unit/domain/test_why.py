"""Why something waits: what operators are told, by the history that led to it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import (
    AssignJob,
    CancelAssignment,
    CancelJob,
    CreateJob,
    DeactivateJob,
    MarkOffline,
    MarkOnline,
    MarkSilent,
    PauseJob,
    RegisterDevice,
    RegisterPc,
    ReportCompleted,
    ReportFailed,
    ReportRunning,
    RunJobNext,
    SendAttempt,
)
from drover.domain.fleet.events import (
    DeviceCameOnline,
    DeviceQuarantined,
    JobNeedAdded,
    JobPaused,
    PcHeld,
    SupplyAdvanced,
    Target,
)
from drover.domain.fleet.state import Phase
from drover.domain.fleet.why import Explanation, why
from drover.testing.scenario import NOON, Scenario

URL = "https://youtu.be/abc"
A, B, C = (f"00000000-0000-7000-8000-00000000000{n}" for n in (1, 2, 3))
NAMED = "00000000-0000-7000-8000-00000000aaaa"


def device_id(number: int) -> str:
    return f"00000000-0000-7000-9000-{number:012}"


class Farm(Scenario):
    """A fleet on its way, by commands: what is explained is what the rules lead to."""

    def __init__(self) -> None:
        super().__init__(FLEET)

    def phones(self, *numbers: int, pc: str = "PC-01", group: str = "P1-G1", online: bool = True, **fields) -> Farm:
        for number in numbers:
            self.do(RegisterDevice(device_id(number), f"SERIAL{number:04}", group, pc, **fields))
            if online:
                self.do(MarkOnline(device_id(number)))
        return self

    def job(self, job_id: str, **fields) -> Farm:
        return self.do(CreateJob(job_id=job_id, target_url=URL, **fields))

    def do(self, command) -> Farm:
        self.when(command)
        assert self.decision.rejection is None, self.decision.rejection
        return self

    def on(self, number: int) -> str:
        """The assignment that a phone has in hand."""
        assignment_id = self.state.devices[device_id(number)].assignment
        assert assignment_id is not None
        return assignment_id

    def start(self, number: int) -> Farm:
        assignment_id = self.on(number)
        run = self.state.assignments[assignment_id].run
        return self.do(SendAttempt(assignment_id, run)).do(ReportRunning(assignment_id, run))

    def fail(self, number: int, code: str) -> Farm:
        return self.start(number).do(ReportFailed(self.on(number), error_code=code))

    def complete(self, number: int) -> Farm:
        done = ReportCompleted(self.on(number), progress_pct=100, actual_duration_sec=60)
        return self.start(number).do(done)

    def why(self, **subject: str) -> Explanation:
        explanation = why(self.state, self.now, **subject)
        assert explanation is not None
        assert explanation.reasons, "something is always said"
        assert len({reason.data["code"] for reason in explanation.reasons}) == len(explanation.reasons)
        return explanation

    def sentences(self, **subject: str) -> list[str]:
        return [reason.sentence for reason in self.why(**subject).reasons]

    def codes(self, **subject: str) -> list[str]:
        return [reason.data["code"] for reason in self.why(**subject).reasons]

    def data(self, code: str, **subject: str) -> dict:
        return next(reason.data for reason in self.why(**subject).reasons if reason.data["code"] == code)


@pytest.fixture
def farm():
    return Farm()


def test_nobody_knows_it(farm):
    assert why(farm.state, NOON, job_id=A) is None
    assert why(farm.state, NOON, assignment_id=A) is None
    assert why(farm.state, NOON, device_id=A) is None


# A job


def test_a_job_waits_behind_the_one_that_is_active(farm):
    farm.phones(1).job(A).after(seconds=5)
    farm.job(B).job(C)
    explanation = farm.why(job_id=B)
    assert (explanation.about, explanation.id, explanation.status) == ("job", B, "created")
    assert (
        farm.sentences(job_id=B)[0] == f"Job {B} is behind job {A}, which has been active since 2026-03-02T12:00:00Z."
    )
    assert farm.data("job_behind", job_id=B) == {
        "code": "job_behind",
        "job_id": B,
        "behind": A,
        "since": "2026-03-02T12:00:00Z",
        "ahead": 0,
        "preferred": 0,
    }
    assert farm.sentences(job_id=C)[0].endswith(", and 1 older job in the queue.")


def test_a_job_waits_behind_newer_ones_that_are_preferred(farm):
    farm.phones(1).job(A).job(B).job(C).do(RunJobNext(C))
    assert farm.sentences(job_id=B)[0].endswith(
        ", and 1 job in the queue, of which 1 newer with a higher priority or put first."
    )
    assert farm.data("job_behind", job_id=B)["preferred"] == 1
    assert farm.data("job_behind", job_id=C)["ahead"] == 0


def test_a_job_is_scheduled(farm):
    at = NOON + timedelta(hours=2)
    farm.phones(1).job(A, not_before=at)
    assert farm.sentences(job_id=A) == [f"Job {A} is scheduled for 2026-03-02T14:00:00Z."]
    data = {"code": "job_scheduled", "job_id": A, "not_before": "2026-03-02T14:00:00Z"}
    assert farm.data("job_scheduled", job_id=A) == data
    farm.do(PauseJob(A))
    assert [reason.data["code"] for reason in farm.why(job_id=A).reasons] == ["job_paused", "job_scheduled"]


def test_a_device_has_no_work_because_all_jobs_are_scheduled(farm):
    farm.phones(1).job(A, not_before=NOON + timedelta(hours=2)).job(B, not_before=NOON + timedelta(hours=1))
    assert farm.sentences(device_id=device_id(1)) == [
        "There is no work now: 2 jobs scheduled, the next for 2026-03-02T13:00:00Z."
    ]


def test_a_scheduled_job_expired(farm):
    farm.job(A, not_before=NOON + timedelta(hours=2)).after(hours=26).ticked()
    assert "expired at 2026-03-03T14:00:00Z, 24 hours after the time it could start at" in farm.sentences(job_id=A)[0]
    assert farm.data("job_expired", job_id=A)["was_scheduled"] is True


def test_a_job_was_created_inactive(farm):
    farm.phones(1).job(A, is_active=False)
    assert farm.sentences(job_id=A) == [f"Job {A} was created paused. Resume it to put it into the queue."]


def test_a_job_was_paused_by_a_person(farm):
    farm.phones(1).job(A).do(PauseJob(A))
    assert farm.sentences(job_id=A) == [f"Job {A} is paused."]


def test_a_job_was_paused_as_poison(farm):
    farm.phones(1, 2, 3, 4).job(A)
    for number in (1, 2, 3):
        farm.fail(number, "OUT_OF_MEMORY")
    assert farm.sentences(job_id=A) == [f"Job {A} is paused: it failed permanently on 3 devices with OUT_OF_MEMORY."]
    poison = farm.data("job_paused", job_id=A)
    assert (poison["poison"], len(poison["device_ids"])) == ("OUT_OF_MEMORY", 3)


def test_no_device_of_its_group_is_online(farm):
    farm.phones(1).phones(2, 3, group="P7-G1", online=False).job(A, target=Target(group_id="P7-G1"))
    assert farm.sentences(job_id=A) == ["No device of group P7-G1 is online: 2 offline."]
    found = farm.data("no_device_online", job_id=A)
    assert (found["target"], found["looked_at"], found["offline"]) == ({"group_id": "P7-G1"}, 2, 2)


def test_a_job_for_a_group_that_is_empty(farm):
    farm.phones(1).job(A, target=Target(group_id="P9-G9"))
    assert farm.sentences(job_id=A) == [f"No device matches the target of job {A}: group P9-G9."]


def test_a_job_that_names_its_devices_later(farm):
    farm.phones(1).job(A, target=Target(device_ids=()))
    assert farm.sentences(job_id=A) == [f"No device matches the target of job {A}: devices not selected yet."]


def test_no_eligible_device_has_what_the_job_needs(farm):
    farm.phones(1, 2).job(A).given(JobNeedAdded(A, "age_verified")).when(CancelAssignment(farm.on(1)))
    assert f"No eligible device has `age_verified`, which job {A} needs." in farm.sentences(job_id=A)
    assert farm.data("no_device_capable", job_id=A)["capability"] == "age_verified"


def test_devices_that_could_take_it_are_hindered_each_in_its_own_way(farm):
    farm.phones(1, 2, 3, 4).given(PcHeld("PC-01", NOON + timedelta(minutes=10)))
    farm.do(MarkOffline(device_id(1)))
    farm.given(DeviceQuarantined(device_id(2), "APP_CRASH", NOON + timedelta(minutes=30), None, None))
    farm.job(A)
    assert farm.sentences(job_id=A) == ["No device can take work now: 1 offline, 1 in error, 2 on a held PC."]


def test_an_active_job_says_how_it_stands(farm):
    farm.phones(1, 2, 3).job(A).complete(1)
    assert farm.codes(job_id=A) == ["job_active", "no_device_left"]
    assert farm.sentences(job_id=A)[0] == (
        f"Job {A} has been active since 2026-03-02T12:00:00Z: 2 in flight, 1 completed, 0 failed."
    )


def test_the_pc_of_an_active_job_is_full(farm):
    farm.do(RegisterPc("PC-01", 2)).phones(1, 2, 3).job(A)
    assert farm.sentences(job_id=A)[1:] == ["PC PC-01 is full: 2 of 2 slots are in use."]


def test_all_pcs_are_full(farm):
    farm.do(RegisterPc("PC-01", 1)).do(RegisterPc("PC-02", 1)).phones(1, 2).phones(3, 4, pc="PC-02").job(A)
    assert farm.sentences(job_id=A)[1:] == [f"All 2 PCs with a device for job {A} are full."]
    assert farm.data("pcs_full", job_id=A)["pc_ids"] == ["PC-01", "PC-02"]


def test_a_job_for_a_number_of_devices_has_them(farm):
    farm.phones(1, 2, 3).job(A, target=Target(count=2))
    assert farm.sentences(job_id=A)[1:] == [f"Job {A} has reached its target of 2 devices."]


def test_the_look_for_devices_is_under_way(farm):
    for number in range(1, 4):
        farm.phones(number, pc=f"PC-{number:02}")
    farm.job(A).given(JobNeedAdded(A, "age_verified"), SupplyAdvanced(A, 2))
    assert farm.sentences(job_id=A)[1] == "Drover is looking for devices: 2 of 3 PCs checked."
    farm.given(SupplyAdvanced(A, 1))
    assert "look_under_way" not in farm.codes(job_id=A)


def test_the_look_has_not_come_to_this_pc_yet(farm):
    farm.phones(1).phones(2, pc="PC-02", online=False).job(A)
    farm.given(JobNeedAdded(A, "age_verified"))  # the look begins anew
    assert farm.codes(device_id=device_id(2)) == ["device_offline", "capability_missing", "look_under_way"]
    assert farm.sentences(device_id=device_id(2))[2] == "Drover is looking for devices: 0 of 2 PCs checked."


def test_a_job_for_a_pc_and_one_for_named_devices(farm):
    farm.phones(1, online=False).phones(2, pc="PC-02", online=False)
    farm.job(A, target=Target(pc_id="PC-02")).job(B, target=Target(device_ids=(device_id(1), device_id(2))))
    assert farm.sentences(job_id=A) == ["No device of PC PC-02 is online: 1 offline."]
    assert farm.sentences(job_id=B) == ["No device of the 2 selected devices is online: 2 offline."]


def test_a_device_that_was_named_for_a_job_of_another_group_counts(farm):
    farm.phones(1, online=False).phones(2, group="P2-G1", online=False).job(A, target=Target(group_id="P2-G1"))
    farm.do(AssignJob(NAMED, A, device_id(1))).do(CancelAssignment(NAMED))
    assert farm.data("no_device_online", job_id=A)["looked_at"] == 2


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (CancelJob(A), "was cancelled at 2026-03-02T12:00:00Z: 1 device completed it, 0 failed."),
        (DeactivateJob(A), "was deactivated at 2026-03-02T12:00:00Z: 1 device completed it, 0 failed."),
    ],
)
def test_a_job_that_a_person_ended(farm, command, sentence):
    farm.phones(1, 2).job(A).complete(1).do(command)
    assert farm.sentences(job_id=A) == [f"Job {A} {sentence}"]


def test_a_job_that_completed(farm):
    farm.phones(1).job(A).after(minutes=2)
    farm.complete(1)
    assert farm.why(job_id=A).status == "completed"
    assert farm.sentences(job_id=A) == [f"Job {A} completed at 2026-03-02T12:02:00Z: 1 device completed it, 0 failed."]


def test_a_job_that_expired(farm):
    farm.phones(1, online=False).job(A).after(hours=24).ticked()
    assert farm.sentences(job_id=A) == [
        f"Job {A} expired at 2026-03-03T12:00:00Z, 24 hours after it was created: 0 devices completed it, 0 failed."
    ]


def test_what_a_paused_job_had_handed_out_is_being_taken_back(farm):
    farm.phones(1, 2).job(A)
    farm.given(JobPaused(A, "admin", None))  # the event alone: what follows from it is still to come
    assert farm.sentences(job_id=A)[1] == f"Pending assignments of job {A} are being withdrawn: 2 left."
    assert farm.codes(assignment_id=farm.on(1))[0] == "job_withdrawing"


def test_of_a_great_fleet_so_many_are_asked_and_no_more(farm, monkeypatch):
    monkeypatch.setattr("drover.domain.fleet.why.jobs.DEVICES_LOOKED_AT_MAX", 2)
    farm.phones(1, 2, online=False).job(A)
    assert farm.sentences(job_id=A) == ["No device is online: 2 offline."]
    farm.phones(3, online=False)
    assert farm.sentences(job_id=A) == ["Of the first 2 devices: No device is online: 2 offline."]
    assert farm.data("no_device_online", job_id=A)["looked_at"] == 2


# An assignment


def test_an_assignment_waits_while_its_pc_is_full(farm):
    farm.do(RegisterPc("PC-01", 1)).phones(1, 2).job(A).do(AssignJob(NAMED, A, device_id(2)))
    assert farm.sentences(assignment_id=NAMED) == ["PC PC-01 is full: 1 of 1 slots are in use."]
    assert farm.data("pc_full", assignment_id=NAMED) == {
        "code": "pc_full",
        "pc_id": "PC-01",
        "in_use": 1,
        "target": 1,
    }


def test_an_assignment_waits_for_the_turn_of_its_job_and_for_its_device(farm):
    farm.phones(1).phones(2, online=False).job(A).job(B).do(AssignJob(NAMED, B, device_id(2)))
    assert farm.why(assignment_id=NAMED).status == "pending"
    assert farm.codes(assignment_id=NAMED) == ["job_behind", "device_offline"]
    assert farm.sentences(assignment_id=NAMED)[1] == "Device SERIAL0002 is offline."


def test_an_assignment_waits_for_a_device_with_other_work_in_hand(farm):
    farm.phones(1, 2).job(A, target=Target(device_ids=(device_id(1),))).start(1)
    farm.do(PauseJob(A)).job(B).do(AssignJob(NAMED, B, device_id(1)))
    assert farm.sentences(assignment_id=NAMED)[0] == f"Device SERIAL0001 is working on job {A}: running, 0 %."


def test_an_assignment_on_a_device_that_lacks_what_the_job_needs(farm):
    farm.phones(1, 2).job(B).job(A).given(JobNeedAdded(A, "age_verified")).when(AssignJob(NAMED, A, device_id(1)))
    assert farm.sentences(assignment_id=NAMED)[-1] == f"Device SERIAL0001 lacks `age_verified`, which job {A} needs."


def test_an_assignment_was_rolled_back_and_waits_for_its_device(farm):
    farm.phones(1).job(A).start(1)
    assignment_id = farm.on(1)
    farm.do(MarkSilent(device_id(1)))
    assert farm.state.assignments[assignment_id].phase is Phase.WAITING
    assert farm.codes(assignment_id=assignment_id) == ["device_offline"]


def test_a_retry_is_due(farm):
    farm.phones(1).job(A).fail(1, "VIDEO_NETWORK_ERROR")
    (sentence,) = farm.sentences(assignment_id=farm.on(1))
    assert (
        sentence == "Attempt 2 of 3 is due at 2026-03-02T12:00:10Z: the previous one failed with VIDEO_NETWORK_ERROR."
    )
    assert farm.data("retry_due", assignment_id=farm.on(1))["due_at"] == "2026-03-02T12:00:10Z"
    farm.after(seconds=11)
    assert "is due now (2026-03-02T12:00:10Z has passed)" in farm.sentences(assignment_id=farm.on(1))[0]


def test_an_offer_that_nobody_fetched_yet(farm):
    farm.phones(1).job(A)
    assert farm.sentences(assignment_id=farm.on(1)) == [
        "Device SERIAL0001 has not fetched it yet: offered at 2026-03-02T12:00:00Z, expires at 2026-03-02T12:01:30Z."
    ]


def test_work_that_was_fetched_and_not_begun(farm):
    farm.phones(1).job(A).do(SendAttempt(farm.on(1), 1))
    assert farm.sentences(assignment_id=farm.on(1)) == [
        "Device SERIAL0001 has fetched it but not started it: "
        "sent at 2026-03-02T12:00:00Z, expires at 2026-03-02T12:01:00Z."
    ]


def test_work_that_runs(farm):
    farm.phones(1).job(A).start(1).do(ReportRunning(farm.on(1), progress_pct=40, ad_playing=True))
    assert farm.why(assignment_id=farm.on(1)).status == "running"
    assert farm.sentences(assignment_id=farm.on(1)) == [
        "Attempt 1 of 3 has been running on device SERIAL0001 since 2026-03-02T12:00:00Z: now at 40 %; "
        "it times out at 2026-03-02T12:20:00Z.",
        "Its progress is paused while an ad plays.",
    ]


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (None, "completed on attempt 1."),
        ("VIDEO_AGE_RESTRICTED", "failed permanently after 1 attempt."),
    ],
)
def test_an_assignment_that_ended(farm, code, sentence):
    farm.phones(1, 2).job(A)
    assignment_id = farm.on(1)
    if code is None:
        farm.complete(1)
    else:
        farm.fail(1, code)
    assert farm.sentences(assignment_id=assignment_id) == [f"Assignment {assignment_id} {sentence}"]


def test_an_assignment_that_was_cancelled(farm):
    farm.phones(1, 2).job(A)
    assignment_id = farm.on(1)
    farm.do(CancelAssignment(assignment_id))
    assert farm.codes(assignment_id=assignment_id) == ["assignment_cancelled"]


# A device


def test_a_device_is_in_error_until_a_time(farm):
    farm.phones(1, 2).given(DeviceQuarantined(device_id(1), "APP_CRASH", NOON + timedelta(minutes=30), None, A))
    assert farm.why(device_id=device_id(1)).status == "error"
    assert farm.sentences(device_id=device_id(1))[0] == (
        "Device SERIAL0001 is in error (APP_CRASH) until 2026-03-02T12:30:00Z."
    )
    assert farm.data("device_error", device_id=device_id(1)) == {
        "code": "device_error",
        "device_id": device_id(1),
        "rule": "APP_CRASH",
        "until": "2026-03-02T12:30:00Z",
        "condition": None,
        "job_id": A,
    }


@pytest.mark.parametrize(
    ("code", "ends"),
    [
        ("SCREEN_LOCKED", "until its screen is unlocked."),
        ("BATTERY_LOW", "until it is charged."),
        ("OUT_OF_MEMORY", "until it is reset."),
    ],
)
def test_a_device_is_in_error_until_something_else_is_over(farm, code, ends):
    farm.phones(1, 2).job(A).fail(1, code)
    assert farm.sentences(device_id=device_id(1))[0] == f"Device SERIAL0001 is in error ({code}) {ends}"


def test_a_device_is_held_because_it_did_not_take_its_offers(farm):
    farm.phones(1).job(A).after(seconds=90).ticked()
    assert farm.sentences(device_id=device_id(1))[0] == (
        "Device SERIAL0001 is held after 1 offer that it did not fetch: the next one comes at 2026-03-02T12:06:30Z."
    )
    assert farm.data("device_held", device_id=device_id(1))["until"] == "2026-03-02T12:06:30Z"


def test_a_device_is_on_a_pc_that_is_held(farm):
    farm.phones(1).given(PcHeld("PC-01", NOON + timedelta(minutes=10)))
    assert farm.sentences(device_id=device_id(1))[0] == (
        "PC PC-01 is held, because all its devices were failing: it gets work again at 2026-03-02T12:10:00Z."
    )


def test_there_is_no_work(farm):
    farm.phones(1)
    assert farm.sentences(device_id=device_id(1)) == ["There is no work: no job is active or waiting."]


def test_no_job_in_the_queue_has_a_device_that_can_take_it(farm):
    farm.phones(1).job(A, target=Target(group_id="P9-G9"))
    assert farm.sentences(device_id=device_id(1)) == [
        "No job is active: 1 job in the queue, but no device can take one now."
    ]


def test_the_active_job_is_not_for_this_device(farm):
    farm.phones(1).phones(2, group="P2-G1").job(A, target=Target(group_id="P2-G1"))
    assert farm.sentences(device_id=device_id(1)) == [
        f"The active job, {A}, does not target device SERIAL0001: it is for group P2-G1."
    ]


def test_the_active_job_has_been_there(farm):
    farm.phones(1, 2).job(A).complete(1)
    assert farm.sentences(device_id=device_id(1)) == [
        f"The active job, {A}, has already finished on device SERIAL0001."
    ]


def test_the_pc_of_a_device_is_full(farm):
    farm.do(RegisterPc("PC-01", 1)).phones(1, 2).job(A)
    assert farm.sentences(device_id=device_id(2)) == ["PC PC-01 is full: 1 of 1 slots are in use."]


def test_a_device_that_works(farm):
    farm.phones(1).job(A).start(1).do(ReportRunning(farm.on(1), progress_pct=30))
    assert farm.why(device_id=device_id(1)).status == "busy"
    assert farm.sentences(device_id=device_id(1)) == [f"Device SERIAL0001 is working on job {A}: running, 30 %."]
    assert farm.data("device_in_flight", device_id=device_id(1))["assignment_id"] == farm.on(1)


def test_a_device_in_hand_of_a_job_also_says_what_holds_it(farm):
    farm.phones(1).job(A).start(1).given(PcHeld("PC-01", NOON + timedelta(minutes=10)))
    assert farm.codes(device_id=device_id(1)) == ["device_in_flight", "pc_held"]


def test_the_active_job_has_its_number_without_this_device(farm):
    farm.phones(1, 2).job(A, target=Target(count=1))
    idle = next(number for number in (1, 2) if farm.state.devices[device_id(number)].assignment is None)
    assert "job_has_its_number" in farm.codes(device_id=device_id(idle))


def test_nothing_holds_a_device_up(farm):
    farm.phones(1).phones(2, online=False).job(A)
    farm.given(DeviceCameOnline(device_id(2)))  # the event alone: the moment before it is given work
    assert farm.sentences(device_id=device_id(2)) == ["Nothing blocks device SERIAL0002: it is next."]


@pytest.mark.req("SE-04")
def test_a_job_that_one_device_gave_up_waits_for_a_second_one(farm):
    farm.phones(1, 2, 3).job(A).start(1)
    assert "job_given_up" not in farm.codes(job_id=A)
    farm.do(ReportFailed(farm.on(1), 1, names_run=True, error_code="E2001")).fail(2, "VIDEO_REGION_BLOCKED")
    assert farm.sentences(job_id=A)[-1] == (
        f"2 devices reported VIDEO_UNAVAILABLE or VIDEO_REGION_BLOCKED. Job {A} ends for all devices when 2 devices "
        "report this under their own keys or with their runs: so far 1."
    )
    data = farm.data("job_given_up", job_id=A)
    assert (data["reported"], data["counted"], data["needed"]) == (2, 1, 2)
    assert data["device_ids"] == [device_id(1), device_id(2)]
