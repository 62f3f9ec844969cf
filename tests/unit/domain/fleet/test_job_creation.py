"""What a job may look like, and what its client is told."""

import msgspec
import pytest

from drover.domain.errors import Code
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import CreateJob
from drover.domain.fleet.events import JobActivated, JobArchived, JobCreated, SupplyAdvanced, Target
from drover.domain.fleet.policy import OPEN_JOBS_MAX
from drover.domain.fleet.state import JobStatus
from drover.testing.scenario import given
from tests.unit.domain.fleet.world import (
    D1,
    G1,
    J1,
    J2,
    NOBODY,
    URL,
    Work,
    create,
    created,
    farm,
    in_hand,
    job_id,
    job_of,
)


@pytest.mark.req("DF-02")
def test_a_job_with_nothing_but_its_url_has_the_defaults():
    (
        given(FLEET)
        .when(CreateJob(job_id=J1, target_url=URL))
        .then(
            JobCreated(
                job_id=J1,
                title=None,
                target_url=URL,
                script_type="youtube_watch",
                duration_min_pct=30,
                duration_max_pct=90,
                prob_like=50,
                prob_comment=30,
                prob_playlist=10,
                is_active=True,
                base_reward=10,
                target=None,
            )
        )
        .then_answers(
            id=J1,
            title=None,
            target_url=URL,
            script_type="youtube_watch",
            duration_min_pct=30,
            duration_max_pct=90,
            prob_like=50,
            prob_comment=30,
            prob_playlist=10,
            is_active=True,
            base_reward=10,
            target=None,
            status="created",
        )
    )


@pytest.mark.req("DF-02")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", "x" * 201),
        ("target_url", "https://example.com/abc"),
        ("target_url", "https://youtube.com/"),
        ("target_url", "ftp://youtube.com/abc"),
        ("target_url", "https://youtube.com.evil.example/abc"),
        ("target_url", "https://youtu.be/a b"),
        ("target_url", "https://youtu.be/abc\n"),
        ("target_url", "https://youtu.be/" + "a" * 2048),
        ("script_type", "youtube_dance"),
        ("duration_min_pct", 9),
        ("duration_min_pct", 101),
        ("duration_max_pct", 9),
        ("duration_max_pct", 101),
        ("prob_like", -1),
        ("prob_like", 101),
        ("prob_comment", 101),
        ("prob_playlist", -1),
        ("base_reward", -0.01),
        ("base_reward", float("nan")),
        ("base_reward", float("inf")),
    ],
)
def test_a_field_out_of_its_range_is_refused_by_name(field, value):
    command = msgspec.structs.replace(CreateJob(job_id=J1, target_url=URL), **{field: value})
    given(FLEET).when(command).then_rejected(Code.VALIDATION_ERROR, field=field)


@pytest.mark.req("DF-02")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", "x" * 200),
        ("target_url", "http://www.youtube.com/watch?v=abc"),
        ("script_type", "youtube_shorts"),
        ("script_type", "youtube_subscribe"),
        ("duration_min_pct", 10),
        ("duration_max_pct", 100),
        ("prob_like", 0),
        ("prob_like", 100),
        ("base_reward", 0),
    ],
)
def test_the_ends_of_a_range_are_within_it(field, value):
    command = msgspec.structs.replace(CreateJob(job_id=J1, target_url=URL), **{field: value})
    scenario = given(FLEET).when(command).then(JobCreated)
    assert getattr(scenario.decision.events[0], field) == value


@pytest.mark.req("DF-02")
@pytest.mark.parametrize("where", [{}, {"target": {"devices": []}}])
def test_unknown_fields_are_refused(where):
    body = {"type": "CreateJob", "job_id": J1, "target_url": URL} | (where or {"colour": "red"})
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.convert(body, FLEET.commands)


@pytest.mark.req("DF-21", "DF-29")
def test_v001_the_longest_duration_is_not_below_the_shortest():
    scenario = given(FLEET).when(create(duration_min_pct=30, duration_max_pct=20))
    scenario.then_rejected(Code.VALIDATION_ERROR, field="duration_max_pct", value=20, rule="V001")
    assert scenario.decision.rejection.message == "duration_max_pct must be >= duration_min_pct"


@pytest.mark.req("DF-21")
def test_v001_both_may_be_the_same():
    given(FLEET).when(create(duration_min_pct=50, duration_max_pct=50)).then(JobCreated)


@pytest.mark.req("DF-21")
def test_v002_three_certainties_are_still_within_300():
    given(FLEET).when(create(prob_like=100, prob_comment=100, prob_playlist=100)).then(JobCreated)


@pytest.mark.req("DF-21")
def test_v003_a_job_for_a_device_that_does_not_exist_is_refused():
    given(FLEET, *farm(1)).when(create(target=Target(device_ids=(D1, NOBODY)))).then_rejected(
        Code.CONFLICT, rule="V003", value=NOBODY
    )


@pytest.mark.req("DF-02")
@pytest.mark.parametrize(
    "target",
    [
        Target(group_id="G1"),
        Target(pc_id="no spaces"),
        Target(device_ids=("d1",)),
        Target(device_ids=(D1,) * 1001),
        Target(count=0),
        Target(count=-1),
        Target(group_id=G1, pc_id="pc1"),
        Target(group_id=G1, device_ids=(D1,)),
    ],
)
def test_a_malformed_target_is_refused(target):
    given(FLEET, *farm(1)).when(create(target=target)).then_rejected(Code.VALIDATION_ERROR)


def test_a_job_id_is_unique():
    given(FLEET, created(J1)).when(create(J1)).then_rejected(Code.UNIQUE_VIOLATION, field="id", value=J1)


def test_a_malformed_job_id_is_refused():
    given(FLEET).when(create("j1")).then_rejected(Code.VALIDATION_ERROR, field="job_id")


@pytest.mark.req("DF-06")
def test_a_job_is_created_and_becomes_active_when_a_device_can_run_it():
    scenario = given(FLEET).when(create(J1)).then_answers(status="created")
    assert job_of(scenario).status is JobStatus.CREATED
    scenario = given(FLEET, *farm(1)).when(create(J1)).then_answers(status="active")
    assert job_of(scenario).status is JobStatus.ACTIVE


@pytest.mark.req("DF-02")
def test_a_job_that_is_created_inactive_waits_for_a_person():
    scenario = given(FLEET, *farm(1)).when(create(J1, is_active=False)).then(created(J1, is_active=False))
    scenario.then_answers(status="created", is_active=False)
    scenario.when(create(J2))
    assert [type(event) for event in scenario.decision.events[:3]] == [JobCreated, JobActivated, SupplyAdvanced]
    assert scenario.decision.events[1].job_id == J2


def test_only_so_many_jobs_are_open_at_once():
    scenario = given(FLEET, *(created(job_id(number)) for number in range(1, OPEN_JOBS_MAX + 1)))
    scenario.when(create(job_id(5_000))).then_rejected(Code.CONFLICT)
    scenario.after(hours=24).ticked().when(create(job_id(5_000))).then(JobCreated)


def test_an_ended_job_is_forgotten_after_a_day():
    scenario = given(FLEET, created(J1)).after(hours=24).ticked()
    assert job_of(scenario).status is JobStatus.EXPIRED
    scenario.after(hours=24, seconds=-1).ticked().then_nothing()
    scenario.after(seconds=1).ticked().then(JobArchived(J1))
    assert J1 not in scenario.state.jobs


@pytest.mark.req("EV-04")
def test_a_job_id_that_is_used_again_after_a_day_gives_out_no_assignment_twice():
    """The decider has forgotten the first job; the log and the read models have not."""
    work = Work()
    scenario = given(FLEET, *farm(1)).when(create(J1)).when(work.fetch()).when(work.completes())
    scenario.after(hours=24).ticked().then(JobArchived(J1))
    scenario.when(create(J1))
    assert scenario.decision.rejection is not None or in_hand(scenario, D1).assignment_id != work.id
