"""The fold of a stretch of the past, in a process of its own: it may take a second, and the loop must not."""

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
"""What is asked of a state at a moment; the answer is encoded where it is found. A function of a module: it travels by
its name."""


def die_with(parent: int) -> None:
    """For a worker process: whoever started it may be killed, and must not leave it behind."""

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_LOOK_S)
        os._exit(0)

    threading.Thread(target=look, daemon=True, name="die-with-parent").start()


def answer(
    decider_of: Callable[[], Decider[Any]],
    image: bytes | None,
    payloads: list[bytes],
    at: datetime,
    question: Callable[..., bytes],
    arguments: tuple[Any, ...],
) -> bytes:
    """Fold what comes after the image, up to that moment and no further, and ask."""
    decider = decider_of()
    state = decider.initial() if image is None else decode_image(decider, image).state
    codec = Codec.of(decider)
    for payload in payloads:
        for event in codec.decode(payload):
            if event.at > at:
                break
            state = decider.evolve(state, event)
    return question(state, at, *arguments)
