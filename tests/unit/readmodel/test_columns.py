"""Columns take every value that events can bring."""

from __future__ import annotations

import pytest

from drover.readmodel.column import columns_of
from drover.readmodel.events import EventRow
from drover.readmodel.fleet.jobs import JobRow


@pytest.mark.req("DF-07")
def test_the_number_of_an_event_fits_wherever_a_row_has_it():
    """A log may have more events than an int4 can count: the projector would stop at the first of them."""
    (n,) = [column.type for column in columns_of(EventRow) if column.name == "n"]
    (put_first,) = [column.type for column in columns_of(JobRow) if column.name == "put_first"]
    assert put_first is n
