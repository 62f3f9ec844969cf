"""When a read model has another form, and is folded anew."""

from __future__ import annotations

from dataclasses import replace

from drover.projector.fleet import FLEET_PROJECTION
from drover.readmodel.fleet import FLEET


def test_a_changed_column_is_another_form():
    changed = FLEET.ddl.replace("capacity   int4", "capacity   int8")
    assert changed != FLEET.ddl
    assert replace(FLEET_PROJECTION, ddl=changed).hash != FLEET_PROJECTION.hash


def test_a_fold_that_gives_other_rows_is_another_form():
    assert replace(FLEET_PROJECTION, version=FLEET_PROJECTION.version + 1).hash != FLEET_PROJECTION.hash


def test_another_word_for_a_column_is_the_same_form():
    changed = FLEET.ddl.replace("When it first became ACTIVE.", "Its first activation.").replace("-- The", "-- All the")
    assert changed != FLEET.ddl
    assert replace(FLEET_PROJECTION, ddl=changed).hash == FLEET_PROJECTION.hash
