"""Measures how long a batch of alarms takes from its claim to its last report, by the size of the batch."""

from __future__ import annotations

import time
from typing import Final

from drover.reminder.metrics import BATCH_ALARMS, PROCESSING_TIME_MS

_SIZES: Final = ((1, "1"), (10, "2-10"), (50, "11-50"), (100, "51-100"))
_LARGEST: Final = "101-200"


def size_label(alarms: int) -> str:
    return next((label for most, label in _SIZES if alarms <= most), _LARGEST)


class Batch:
    """The alarms that were claimed by one command."""

    def __init__(self, alarms: int) -> None:
        self._label = size_label(alarms)
        self._left = alarms
        self._began = time.perf_counter()
        BATCH_ALARMS.observe(alarms)

    def done(self) -> None:
        """Note that one alarm of the batch was reported, or need not be sent any more."""
        self._left -= 1
        if self._left == 0:
            PROCESSING_TIME_MS.labels(self._label).observe((time.perf_counter() - self._began) * 1000)
