"""The metrics of copies to the NAS."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client import Histogram

BUCKETS_S: Final = (0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0, 120.0, 300.0, 900.0)
"""The buckets of the duration of a copy, in seconds. Below 30 s is good; above 60 s raises an alert."""

COPY_DURATION: Final = Histogram(
    "nas_copy_duration_seconds",
    "Time of a copy to the NAS, including its comparison with the source; failed copies are left out",
    buckets=BUCKETS_S,
)


@contextmanager
def copy_timed() -> Iterator[None]:
    begun = time.monotonic()
    yield
    COPY_DURATION.observe(time.monotonic() - begun)
