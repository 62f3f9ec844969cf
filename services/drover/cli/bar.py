"""A bar for what takes minutes: events done and in all, rate and time left. On standard error; results go elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class Bar:
    def __init__(self, progress: Progress, what: str) -> None:
        self._progress = progress
        self._what = what
        self._task = progress.add_task(what, total=None, rate="")

    def __call__(self, done: int, of: int) -> None:
        # The first number only says where it begins: what an interrupted one had done was not done at this rate.
        speed = self._progress.tasks[0].speed
        rate = f"{speed:,.0f} events/s" if speed else ""
        self._progress.update(self._task, completed=done, total=of, rate=rate)

    def say(self, stage: str) -> None:
        """What is being done now, where that is not counted in events."""
        self._progress.update(self._task, description=f"{self._what}: {stage}", rate="")


@contextmanager
def bar(what: str, *, quiet: bool, screen: Console | None = None) -> Iterator[Bar]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=screen or Console(stderr=True), disable=quiet, transient=True) as progress:
        yield Bar(progress, what)
