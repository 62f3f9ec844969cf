"""The bar of a rebuild: how far, how fast, how much longer."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from drover.cli import bar as bars


@pytest.fixture
def seconds(monkeypatch):
    """A clock that the test moves."""
    now = [100.0]
    monkeypatch.setattr(
        bars.Progress.__init__, "__kwdefaults__", {**bars.Progress.__init__.__kwdefaults__, "get_time": lambda: now[0]}
    )
    return now


@pytest.mark.req("EV-06")
def test_it_shows_rate_and_time_left_also_for_one_that_goes_on(seconds):
    out = io.StringIO()
    screen = Console(file=out, force_terminal=True, width=150)
    with bars.bar("rebuild fleet", quiet=False, screen=screen) as tell:
        for done in (2_000_000, 2_010_000, 2_020_000, 2_030_000):
            tell(done, 5_000_000)
            seconds[0] += 1.0
        tell(2_040_000, 5_000_000)
        tell._progress.refresh()
        shown = out.getvalue()
        assert "2040000/5000000" in shown
        assert "10,000 events/s" in shown, "what was done before it began is not its rate"
        assert "0:04:56" in shown
        tell.say("making indices")
        tell._progress.refresh()
        assert "rebuild fleet: making indices" in out.getvalue()


def test_it_is_silent_where_a_program_reads():
    out = io.StringIO()
    with bars.bar("verify fleet", quiet=True, screen=Console(file=out, force_terminal=True)) as tell:
        tell(1, 2)
        tell.say("comparing")
    assert out.getvalue() == ""
