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
from drover.writer.fold import decode_image

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


def answer(
    decider_of: Callable[[], Decider[Any]],
    *,
    image: bytes | None,
    payloads: list[bytes],
    at: datetime,
    question: Callable[..., bytes],
    arguments: tuple[Any, ...],
) -> bytes:
    """Apply the commits to the saved state up to the time `at`, then run the query on the result."""
    decider = decider_of()
    state = decider.initial() if image is None else decode_image(decider, image).state
    codec = Codec.of(decider)
    for payload in payloads:
        for event in codec.decode(payload):
            if event.at > at:
                break
            state = decider.evolve(state, event)
    return question(state, at, *arguments)
