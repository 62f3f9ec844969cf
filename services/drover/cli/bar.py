"""A progress bar for work that takes minutes: how much is done, total, rate, time left. Drawn on stderr, because
results go to stdout."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

REDRAW_S: Final = 0.1

Tell = Callable[[int, int], None]
"""Reports progress; the arguments are the number of events (or of the bar's unit) done and the total."""


class Bar:
    """A progress bar. It is drawn only if stderr is a terminal."""

    def __init__(self, progress: Progress, what: str, unit: str) -> None:
        self._progress = progress
        self._what = what
        self._unit = unit
        self._task = progress.add_task(what, total=None, rate="")
        self._told_at = float("-inf")

    def __call__(self, done: int, of: int) -> None:
        now = self._progress.get_time()
        if self._progress.disable or (done < of and now - self._told_at < REDRAW_S):
            return
        self._told_at = now
        # The first call only sets the start: what an earlier, interrupted run did does not count for the rate.
        speed = self._progress.tasks[0].speed
        rate = f"{speed:,.0f} {self._unit}/s" if speed else ""
        self._progress.update(self._task, completed=done, total=of, rate=rate)

    def stage(self, what: str) -> Tell:
        """Return a function that shows the progress of the next stage, from nothing to the end."""

        def tell(done: int, of: int) -> None:
            if self._what != what:
                self._what = what
                self._progress.reset(self._task, description=what, rate="")
            self(done, of)

        return tell

    def say(self, stage: str) -> None:
        """Show the name of a stage that is not counted in events."""
        self._progress.update(self._task, description=f"{self._what}: {stage}", rate="")


@contextmanager
def bar(what: str, *, unit: str = "events", quiet: bool = False, screen: Console | None = None) -> Iterator[Bar]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    screen = screen or Console(stderr=True)
    hidden = quiet or not screen.is_terminal
    with Progress(*columns, console=screen, disable=hidden, transient=True) as progress:
        yield Bar(progress, what, unit)
