"""Applies a part of the log to a state in a worker process, because it may take a second and would block the event
loop."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from drover.domain.decider import Decider
from drover.eventlog.codec import Codec
from drover.eventlog.log import StoredCommit
from drover.writer.fold import Fold, decode_image, encode_image
from drover.writer.idempotency import Remembered

PARENT_LOOK_S: Final = 1.0

Question = Callable[[Any, datetime], bytes]
"""A query on the state at a time; it returns the encoded answer. A module-level function, because it is pickled."""


def die_with(parent: int) -> None:
    """Make a worker process exit when its parent process ends, even if that was killed. Called in the worker
    process."""

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_LOOK_S)
        os._exit(0)

    threading.Thread(target=look, daemon=True, name="die-with-parent").start()


def advance(decider_of: Callable[[], Decider[Any]], *, image: bytes | None, commits: list[StoredCommit]) -> bytes:
    """Apply the commits to the saved state, and return the new state in the same form, so that the next call can
    continue from it."""
    decider = decider_of()
    fold = Fold(decider) if image is None else decode_image(decider, image)
    for commit in commits:
        fold.apply(commit)
    fold.remembered = Remembered()
    return encode_image(fold)


def answer(
    decider_of: Callable[[], Decider[Any]],
    *,
    image: bytes | None,
    commits: list[StoredCommit],
    at: datetime,
    question: Callable[..., bytes],
    arguments: tuple[Any, ...],
) -> bytes:
    """Apply the commits to the saved state up to the time `at`, then run the query on the result."""
    decider = decider_of()
    state = decider.initial() if image is None else decode_image(decider, image).state
    codec = Codec.of(decider)
    for commit in commits:
        for event in codec.decode(commit.payload):
            if event.at > at:
                break
            state = decider.evolve(state, event)
    return question(state, at, *arguments)
