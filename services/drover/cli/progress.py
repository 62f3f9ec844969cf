"""A bar for what takes a while, on standard error and only where somebody looks at it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

REDRAW_S: Final = 0.1

Tell = Callable[[int, int], None]
"""(done, of)."""


@contextmanager
def bar(what: str, *, quiet: bool = False) -> Iterator[Tell]:
    """Events done and in all, their rate and the time left."""
    screen = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    shown = screen.is_terminal and not quiet
    with Progress(*columns, console=screen, disable=not shown, transient=True) as progress:
        task = progress.add_task(what, total=None, rate="")
        told_at = 0.0

        def tell(done: int, of: int) -> None:
            nonlocal told_at
            if not shown or (done < of and time.monotonic() - told_at < REDRAW_S):
                return
            told_at = time.monotonic()
            speed = progress.tasks[0].speed
            progress.update(task, completed=done, total=of, rate=f"{speed:,.0f} events/s" if speed else "")

        yield tell
