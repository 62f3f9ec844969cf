"""What `make contracts` says about snapshots when the state of a context changes."""

from __future__ import annotations

from datetime import datetime

import msgspec
import pytest

from drover.domain.decider import Decider
from drover.writer.snapshots import snapshot_version
from tests.unit.writer.conftest import TALLY
from tools.snapshots.publishing import form_of, publish, read_forms

pytestmark = pytest.mark.req("YR-06")


class Part(msgspec.Struct, array_like=True):
    name: str
    size: int | None = None


class Tally(msgspec.Struct):
    total: int = 0
    parts: dict[str, Part] = {}


class Wider(msgspec.Struct):
    total: int = 0
    parts: dict[str, Part] = {}
    note: str = ""


class Renamed(msgspec.Struct):
    sum: int = 0
    parts: dict[str, Part] = {}


class Described(msgspec.Struct):
    """The same with a text."""

    total: int = 0
    parts: dict[str, Part] = {}


Described.__name__ = "Tally"


def decider(state: type, **more) -> Decider:
    return msgspec.structs.replace(TALLY, state=state, **more)


@pytest.fixture
def released(tmp_path):
    """A folder in which the form of Tally is published, and its version."""
    assert publish(tmp_path, [decider(Tally)]) == []
    return tmp_path, snapshot_version(decider(Tally))


def test_a_form_is_published_once_and_stays(released):
    folder, version = released
    before = read_forms(folder, "tally")
    assert before == {version: form_of(decider(Tally))}
    assert publish(folder, [decider(Tally)]) == []
    assert read_forms(folder, "tally") == before


def test_a_docstring_does_not_change_the_version():
    assert snapshot_version(decider(Described)) == snapshot_version(decider(Tally))


def test_a_changed_state_that_does_not_list_the_released_one_is_refused_and_nothing_is_written(released):
    folder, version = released
    (problem,) = publish(folder, [decider(Wider)])
    assert f'image_migrations={{"{version}": ...}}' in problem
    assert list(read_forms(folder, "tally")) == [version]


def test_added_fields_with_defaults_are_read_as_they_are(released):
    folder, version = released
    assert publish(folder, [decider(Wider, image_migrations={version: None})]) == []
    assert len(read_forms(folder, "tally")) == 2


def test_a_renamed_field_needs_a_function(released):
    folder, version = released
    (problem,) = publish(folder, [decider(Renamed, image_migrations={version: None})])
    assert "`total` was removed" in problem

    def migrated(state):
        state["sum"] = state.pop("total")
        return state

    assert publish(folder, [decider(Renamed, image_migrations={version: migrated})]) == []


def test_a_migration_that_fails_on_the_sample_is_refused(released):
    folder, version = released
    (problem,) = publish(folder, [decider(Renamed, image_migrations={version: lambda state: {"sum": "many"}})])
    assert "fails on the sample" in problem


def test_a_raised_version_of_the_rules_leaves_older_snapshots_behind(released):
    folder, version = released
    assert publish(folder, [decider(Renamed, version=2)]) == []
    (problem,) = publish(folder, [decider(Renamed, version=2, image_migrations={version: None})])
    assert "other rules" in problem


class Timed(msgspec.Struct):
    total: datetime


class Told(msgspec.Struct):
    total: str


Told.__name__ = "Timed"


def test_a_change_that_the_version_does_not_show_is_refused(tmp_path):
    assert snapshot_version(decider(Timed)) == snapshot_version(decider(Told))
    assert publish(tmp_path, [decider(Timed)]) == []
    (problem,) = publish(tmp_path, [decider(Told)])
    assert "its version" in problem


def test_a_listed_version_without_a_sample_is_refused(released):
    folder, _ = released
    (problem,) = publish(folder, [decider(Tally, image_migrations={"0123": None})])
    assert "0123" in problem
