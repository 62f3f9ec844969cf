"""The one value object of what a client may set on a job, and those who have its fields."""

import pytest

from drover.domain.fleet.commands import CreateJob
from drover.domain.fleet.events import JobCreated
from drover.domain.fleet.job_spec import JobSpec, check_spec
from drover.domain.fleet.policy import PROBABILITIES_SUM_MAX
from drover.domain.spec import spec_of
from drover.readmodel.fleet.jobs import JobRow

SPEC = JobSpec("https://youtu.be/abc", title="Watch this", prob_like=0)


def test_command_event_and_row_have_all_of_its_fields():
    fields = set(JobSpec.__struct_fields__)
    assert set(CreateJob.__struct_fields__) == fields | {"job_id", "is_active"}
    assert set(JobCreated.__struct_fields__) >= fields | {"job_id", "is_active"}
    assert set(JobRow.__struct_fields__) >= fields | {"id", "is_active"}


def test_it_is_found_in_a_command():
    command = CreateJob("https://youtu.be/abc", title="Watch this", prob_like=0, job_id="J")
    assert spec_of(JobSpec, command) == SPEC


def test_every_text_with_a_limit_is_checked_by_its_own_name():
    for field, chars_max in {"target_url": 2048, "title": 200}.items():
        spec = {"target_url": "https://youtu.be/abc", field: "https://youtu.be/".ljust(chars_max + 1, "x")}
        refusal = check_spec(JobSpec(**spec))
        assert refusal is not None
        assert refusal.message == f"{field} must have at most {chars_max} characters"
        assert refusal.details == {"field": field, "value": chars_max + 1}


def test_every_bounded_field_is_checked_by_its_own_name():
    for field, (low, high) in {
        "duration_min_pct": (10, 100),
        "duration_max_pct": (10, 100),
        "prob_like": (0, 100),
        "prob_comment": (0, 100),
        "prob_playlist": (0, 100),
        "priority": (-100, 100),
    }.items():
        for value in (low - 1, high + 1):
            refusal = check_spec(JobSpec("https://youtu.be/abc", **{field: value}))
            assert refusal is not None
            assert refusal.message == f"{field} must be between {low} and {high}"
            assert refusal.details == {"field": field, "value": value}


@pytest.mark.req("DF-21")
def test_the_ranges_of_the_probabilities_allow_just_what_v002_allows():
    """So V002 cannot be broken today. Whoever widens a range must see that it can be then, and add a test of it."""
    most = JobSpec("https://youtu.be/abc", prob_like=100, prob_comment=100, prob_playlist=100)
    assert check_spec(most) is None
    assert most.prob_like + most.prob_comment + most.prob_playlist == PROBABILITIES_SUM_MAX
