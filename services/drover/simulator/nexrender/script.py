"""The script of a simulated nexrender: how renders go, how often they go wrong, when the server is away. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

Range = tuple[float, float]
Size = tuple[int, int]

FULL_HD: Final[Size] = (1920, 1080)

File = Literal["good", "broken", "small", "wrong_size", "no_video", "none"]
"""What lands at the end: a video; bytes that are no video; one below 100 KiB; one of another size; one that has sound
only; nothing at all."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one render goes."""

    name: str
    file: File = "good"
    error: str | None = None
    """Ends with this error. `{template}` stands for the template's path."""
    stops_at: int | None = None
    """Progress at which it goes no further: there it fails, or stands still for ever."""
    for_ever: bool = False
    """Nothing comes any more: its worker was killed, and nobody tells the server."""
    progress_max: int | None = None
    """The last progress that is told, also of a render that ends well."""


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

OUTCOMES: Final = {
    outcome.name: outcome
    for outcome in (
        GOOD,
        STAYS_AT_90,
        STUCK,
        BROKEN_FILE,
        SMALL_FILE,
        WRONG_SIZE,
        NO_VIDEO,
        NO_FILE,
        FAILED,
        TEMPLATE_MISSING,
    )
}


@dataclass(frozen=True, slots=True)
class Chance:
    outcome: Outcome
    share: float
    """Of all renders that no rule is about."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Renders of this composition, or of a template whose path ends so, go like this. Comes before chances."""

    about: str
    outcome: Outcome


TroubleKind = Literal["down", "error", "slow", "silent", "html", "lost_answer", "forgets"]
"""The line is cut; 500; a late answer; none at all; a proxy's page; what was asked for is done and the line is cut
before that can be said; the database is lost."""


@dataclass(slots=True)
class Trouble:
    """Something wrong with the server, until it is taken away or used up."""

    kind: TroubleKind
    methods: frozenset[str] = frozenset()
    """Of the requests that meet it; none named: all."""
    times: int | None = None
    """How many requests meet it; None: all, while it lasts."""
    slow_s: float = 2.0


@dataclass(frozen=True, slots=True)
class Outage:
    """A trouble that comes by itself."""

    kind: TroubleKind
    every_s: float
    """Mean time from the end of one outage to this one."""
    lasts_s: Range


@dataclass(frozen=True, slots=True)
class Script:
    """What happens at a simulated nexrender."""

    render_s: Range = (30.0, 120.0)
    encode_s: Range = (10.0, 60.0)
    pickup_s: float = 1.0
    """Until a free machine finds a job that waits."""
    chances: tuple[Chance, ...] = ()
    rules: tuple[Rule, ...] = ()
    outages: tuple[Outage, ...] = ()
    sizes: Mapping[str, Size] = field(default_factory=dict)
    """Of compositions that are not in `size`."""
    size: Size = FULL_HD


CALM: Final = Script()
"""Times as in 003 §2.2; nothing goes wrong."""

QUICK: Final = Script(render_s=(0.2, 0.4), encode_s=(0.05, 0.1), pickup_s=0.01)
"""For tests in real time."""

# For people who watch: renders of some seconds, now and then one that needs a second look.
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

# For soak tests: everything that can go wrong, often.
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
