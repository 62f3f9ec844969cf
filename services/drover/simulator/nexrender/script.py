"""Scripts of a simulated nexrender: how long renders take, how often they fail, when the server is down. Data only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from drover.simulator.script import Fault, Range

Size = tuple[int, int]

FULL_HD: Final[Size] = (1920, 1080)

File = Literal["good", "broken", "small"]
"""The rendered file: a video; bytes that are not a video; or a video that was cut off below 100 KiB."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one render proceeds and ends."""

    name: str
    file: File = "good"
    error: str | None = None
    """The error with which the render ends; None if it succeeds."""
    stops_at: int | None = None
    """The progress at which the render fails; None if it does not."""
    progress_max: int | None = None
    """The highest progress that the render reports, even if it succeeds. None: 90 or 100, at random."""


GOOD: Final = Outcome("good")
STAYS_AT_90: Final = Outcome("stays at 90", progress_max=90)
BROKEN_FILE: Final = Outcome("broken file", file="broken")
SMALL_FILE: Final = Outcome("small file", file="small")
FAILED: Final = Outcome(
    "failed", error="Error: aerender ERROR: After Effects error: Unable to allocate enough memory.", stops_at=55
)


@dataclass(frozen=True, slots=True)
class Chance:
    outcome: Outcome
    share: float
    """The share of all renders with this outcome."""


@dataclass(frozen=True, slots=True)
class Script:
    """All parameters of a simulated nexrender."""

    render_s: Range = (30.0, 120.0)
    encode_s: Range = (10.0, 60.0)
    pickup_s: float = 1.0
    """Seconds until a free machine picks up a waiting job."""
    chances: tuple[Chance, ...] = ()
    outages: tuple[Fault, ...] = ()
    """The faults during which the server cuts every connection: how often they occur, and how long they last."""
    size: Size = FULL_HD
    opening: tuple[Outcome, ...] = ()
    """The outcomes of the first renders."""


CALM: Final = Script()
"""A script with the times of document 003 (the render queue, §2.2) and without faults."""

# For demos: renders of some seconds, with an occasional failure.
DEMO: Final = Script(
    render_s=(8.0, 25.0),
    encode_s=(2.0, 6.0),
    chances=(
        Chance(STAYS_AT_90, 0.25),
        Chance(FAILED, 0.03),
        Chance(BROKEN_FILE, 0.01),
        Chance(SMALL_FILE, 0.01),
    ),
    opening=(GOOD, FAILED),
    outages=(Fault("down", every_s=20 * 60, lasts_s=(10, 40), stops_agent=False),),
)
