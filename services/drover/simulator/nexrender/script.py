"""Scripts of a simulated nexrender: how renders go, how often they fail, when the server is down. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

Range = tuple[float, float]
Size = tuple[int, int]

FULL_HD: Final[Size] = (1920, 1080)

File = Literal["good", "broken", "small", "wrong_size", "no_video", "none"]
"""The rendered file: a video; bytes that are not a video; one below 100 KiB; one with another frame size; one with
sound only; no file."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The course of one render."""

    name: str
    file: File = "good"
    error: str | None = None
    """The error that it ends with. `{template}` is replaced by the template's path."""
    stops_at: int | None = None
    """Progress at which it fails or hangs."""
    for_ever: bool = False
    """It hangs: its worker was killed without a report to the server."""
    progress_max: int | None = None
    """The highest reported progress, also of a successful render."""


GOOD: Final = Outcome("good")
STAYS_AT_90: Final = Outcome("stays at 90", progress_max=90)
STUCK: Final = Outcome("stuck", stops_at=40, for_ever=True)
BROKEN_FILE: Final = Outcome("broken file", file="broken")
SMALL_FILE: Final = Outcome("small file", file="small")
WRONG_SIZE: Final = Outcome("wrong size", file="wrong_size")
NO_VIDEO: Final = Outcome("no video", file="no_video")
NO_FILE: Final = Outcome("no file", file="none")
FAILED: Final = Outcome(
    "failed", error="Error: aerender ERROR: After Effects error: Unable to allocate enough memory.", stops_at=55
)
TEMPLATE_MISSING: Final = Outcome(
    "template missing", error="Error: ENOENT: no such file or directory, open '{template}'", stops_at=0
)


@dataclass(frozen=True, slots=True)
class Chance:
    outcome: Outcome
    share: float
    """Share of all renders without a rule."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The outcome of renders of this composition, or of templates whose path ends with this. Rules precede chances."""

    about: str
    outcome: Outcome


TroubleKind = Literal["down", "error", "slow", "silent", "html", "lost_answer", "forgets"]
"""The connection is cut; 500; a late answer; no answer; a proxy's page; the request is done, but the connection is cut
before the answer; the database is lost."""


@dataclass(slots=True)
class Trouble:
    """A fault of the server, until it is removed or used up."""

    kind: TroubleKind
    methods: frozenset[str] = frozenset()
    """HTTP methods that it affects; empty: all."""
    times: int | None = None
    """How many requests it affects; None: all."""
    slow_s: float = 2.0


@dataclass(frozen=True, slots=True)
class Outage:
    """A fault that occurs by itself."""

    kind: TroubleKind
    every_s: float
    """Mean time from the end of the previous outage to this one."""
    lasts_s: Range


@dataclass(frozen=True, slots=True)
class Script:
    """All parameters of a simulated nexrender."""

    render_s: Range = (30.0, 120.0)
    encode_s: Range = (10.0, 60.0)
    pickup_s: float = 1.0
    """Time until a free machine picks up a waiting job."""
    chances: tuple[Chance, ...] = ()
    rules: tuple[Rule, ...] = ()
    outages: tuple[Outage, ...] = ()
    sizes: Mapping[str, Size] = field(default_factory=dict)
    """Frame sizes of compositions that differ from `size`."""
    size: Size = FULL_HD


CALM: Final = Script()
"""Times as in 003 §2.2; no faults."""

QUICK: Final = Script(render_s=(0.2, 0.4), encode_s=(0.05, 0.1), pickup_s=0.01)
"""For tests in real time."""

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
    outages=(Outage("down", every_s=20 * 60, lasts_s=(10, 40)),),
)

# For soak tests: all faults, often.
ROUGH: Final = Script(
    render_s=(0.2, 1.5),
    encode_s=(0.05, 0.3),
    pickup_s=0.05,
    chances=(
        Chance(STAYS_AT_90, 0.2),
        Chance(FAILED, 0.05),
        Chance(BROKEN_FILE, 0.02),
        Chance(SMALL_FILE, 0.02),
        Chance(WRONG_SIZE, 0.02),
        Chance(NO_VIDEO, 0.02),
        Chance(NO_FILE, 0.02),
        Chance(STUCK, 0.02),
    ),
    outages=(
        Outage("down", every_s=30, lasts_s=(0.5, 3)),
        Outage("error", every_s=30, lasts_s=(0.5, 3)),
        Outage("lost_answer", every_s=60, lasts_s=(0.2, 1)),
        Outage("forgets", every_s=120, lasts_s=(0.1, 0.1)),
    ),
)

SCRIPTS: Final = {"calm": CALM, "quick": QUICK, "demo": DEMO, "rough": ROUGH}
