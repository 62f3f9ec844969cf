"""Scripts of the farm: which faults occur, how often, for how long. Data, and the functions that generate faults from
it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Final, Literal, NamedTuple

from drover.agent.session import HEARTBEAT_EVERY_S

Range = tuple[float, float]
"""The smallest and the largest possible value."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a phone, or of a PC and so of all its phones."""

    name: str
    every_s: float
    """Mean seconds between two occurrences of this fault. Time in which any fault lasts is not counted."""
    lasts_s: Range
    stops_agent: bool
    """Whether the agent stops and loses its memory. False: it runs on, but its requests fail."""
    takes_no_offers: bool = False
    """Whether the agent sends heartbeats and reports, but begins no new work: it hangs in part."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One way in which a run can fail."""

    code: str
    message: str
    chance: float
    """The share of all runs that fail in this way."""


@dataclass(frozen=True, slots=True)
class Standstill:
    """Something that stops the progress of a run while its agent works on: an advertisement, a pop-up or a stall."""

    kind: Literal["ad", "popup", "stall"]
    chance: float
    """The share of all runs in which it occurs. It occurs once in each of them."""
    lasts_s: Range
    noticed: bool = True
    """Whether the agent notices. False: it keeps reporting the same progress, and the platform must detect the
    stall."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What happens in all runs of some videos, instead of what the dice say."""

    video: str
    """A part of the URLs of these videos."""
    video_s: Range | None = None
    """The length of these videos. None: as of all others."""
    failure: Failure | None = None
    phones: tuple[str, ...] = ()
    """The ends of the serial numbers of the phones that fail. Empty: all phones."""
    runs: int | None = None
    """How many runs of a phone fail, from the first on. None: all."""

    def fails(self, serial_number: str, run: int) -> bool:
        is_here = not self.phones or serial_number.endswith(self.phones)
        return self.failure is not None and is_here and (self.runs is None or run <= self.runs)


@dataclass(frozen=True, slots=True)
class Show:
    """Parameters of the simulated watching of videos. The same URL gives the same video; the same phone, URL and run
    number the same run. Nothing is opened."""

    video_s: Range = (16.0, 45.0)
    """The length of a video in seconds. Jobs usually ask for 30 to 90 per cent of it, so a run takes 5 to 40 s."""
    unavailable: float = 0.0
    """Share of videos that no device can watch."""
    age_restricted: float = 0.0
    """Share of videos that only devices with the capability `age_verified` can watch."""
    failures: tuple[Failure, ...] = ()
    standstills: tuple[Standstill, ...] = ()
    slow: float = 0.0
    """The share of runs that take longer than they should."""
    slow_factor: Range = (1.5, 4.0)
    fails_at: Range = (0.05, 0.95)
    """The share of the watching at which a run fails."""
    scenes: tuple[Scene, ...] = ()
    """What is certain about some videos. The first one that applies counts."""


@dataclass(frozen=True, slots=True)
class Post:
    """Faults in sending final reports."""

    repeated: float = 0.0
    """The share of final reports that are sent twice, although the first one was answered."""
    late: float = 0.0
    """The share of final reports that are sent long after the run ended."""
    late_s: Range = (70.0, 200.0)


@dataclass(frozen=True, slots=True)
class Cue:
    """A fault that is certain to occur, once."""

    who: str
    """The id of a PC, or the end of a phone's serial number."""
    start_s: float
    end_s: float
    fault: Fault


@dataclass(frozen=True, slots=True)
class Script:
    """All parameters of a farm."""

    heartbeat_every_s: float = HEARTBEAT_EVERY_S
    phone_faults: tuple[Fault, ...] = ()
    pc_faults: tuple[Fault, ...] = ()
    boot_s: Range = (8.0, 25.0)
    """Seconds from the end of a PC's fault until the agent of a phone runs again: phones boot at different speeds."""
    show: Show = Show()
    post: Post = Post()
    cues: tuple[Cue, ...] = ()
    """The faults that are certain to occur, in order."""
    chance_from_s: float = 0.0
    """From when on faults occur by chance, too."""


CALM: Final = Script()
"""A script without faults."""

# One job is ACTIVE at a time, and the next one waits for the slowest phone. So in the demo all runs of a job take about
# the same time, and a run that fails does so early. A phone that is lost is either back within half a minute, so that
# it tries again before its work is taken from it, or it stays away for longer than its job takes. With 120 phones on 6
# PCs a phone loses its network every 25 s, one crashes every minute, and a PC fails every 40 minutes. About five runs
# in a hundred fail and are retried. `drover.simulator.demo` adds what everybody shall see in the first minutes.
DEMO: Final = Script(
    phone_faults=(
        Fault("no network", every_s=50 * 60, lasts_s=(5, 30), stops_agent=False),
        Fault("no network", every_s=8 * 3600, lasts_s=(200, 400), stops_agent=False),
        Fault("crashed", every_s=2 * 3600, lasts_s=(10, 30), stops_agent=True),
    ),
    pc_faults=(Fault("no power", every_s=4 * 3600, lasts_s=(180, 300), stops_agent=True),),
    show=Show(
        video_s=(150.0, 200.0),
        unavailable=0.02,
        age_restricted=0.03,
        failures=(
            Failure("APP_CRASH", "The app closed unexpectedly", 0.025),
            Failure("VIDEO_NETWORK_ERROR", "The stream broke off", 0.02),
            Failure("E4001", "Unknown error", 0.005),
        ),
        standstills=(
            Standstill("ad", 0.15, (3, 10)),
            Standstill("popup", 0.04, (2, 6)),
            Standstill("stall", 0.0003, (130, 300)),
        ),
        slow=0.05,
        slow_factor=(1.05, 1.15),
        fails_at=(0.01, 0.06),
    ),
    post=Post(repeated=0.02, late=0.0003),
)

# For soak tests: every kind of fault, often enough to occur within minutes.
ROUGH: Final = Script(
    phone_faults=(
        Fault("no network", every_s=4 * 60, lasts_s=(3, 150), stops_agent=False),
        Fault("crashed", every_s=8 * 60, lasts_s=(2, 90), stops_agent=True),
    ),
    pc_faults=(Fault("no power", every_s=12 * 60, lasts_s=(5, 120), stops_agent=True),),
    show=Show(
        unavailable=0.02,
        age_restricted=0.1,
        failures=(
            Failure("APP_CRASH", "The app closed unexpectedly", 0.05),
            Failure("VIDEO_NETWORK_ERROR", "The stream broke off", 0.05),
            Failure("E4001", "Unknown error", 0.02),
        ),
        standstills=(
            Standstill("ad", 0.2, (3, 20)),
            Standstill("ad", 0.002, (290, 330)),
            Standstill("popup", 0.1, (2, 10)),
            Standstill("stall", 0.004, (100, 300)),
            Standstill("stall", 0.004, (130, 400), noticed=False),
        ),
        slow=0.1,
    ),
    post=Post(repeated=0.1, late=0.01),
)

# For soak tests of what the platform must not do: all phones and connections work, so no phone goes offline and nothing
# is rolled back. Videos are as long as real ones; only the work itself fails.
STEADY: Final = Script(
    show=Show(
        video_s=(60.0, 240.0),
        failures=(
            Failure("APP_CRASH", "The app closed unexpectedly", 0.02),
            Failure("VIDEO_NETWORK_ERROR", "The stream broke off", 0.02),
        ),
        standstills=(Standstill("ad", 0.15, (3, 10)), Standstill("popup", 0.04, (2, 6))),
    ),
    post=Post(repeated=0.05),
)

SCRIPTS: Final = {"calm": CALM, "demo": DEMO, "rough": ROUGH, "steady": STEADY}


class Episode(NamedTuple):
    """One occurrence of a fault: from `start` until just before `end`, in seconds of the farm's clock."""

    start: float
    end: float
    fault: Fault


def episodes(faults: tuple[Fault, ...], dice: Random, *, from_s: float = 0.0) -> Iterator[Episode]:
    """Generate the faults of one phone or PC without end, in order and without overlap. The same `dice` give the same
    faults. `from_s`: none is earlier."""
    if not faults:
        return
    rates = [1 / fault.every_s for fault in faults]
    now = from_s
    while True:
        start = now + dice.expovariate(sum(rates))
        (fault,) = dice.choices(faults, rates)
        now = start + dice.uniform(*fault.lasts_s)
        yield Episode(start, now, fault)


class Troubles:
    """Finds the current episode in a sequence of episodes. The time must never go back."""

    __slots__ = ("_episodes", "next")

    def __init__(self, episodes: Iterator[Episode]) -> None:
        self._episodes = episodes
        self.next = next(episodes, None)
        """The first episode that had not ended when `at` was last called."""

    def at(self, now: float, on_end: Callable[[Episode], None] | None = None) -> Episode | None:
        """Return the episode at this time; None if there is none. `on_end` is called for each that has ended since the
        last call."""
        while self.next is not None and self.next.end <= now:
            ended, self.next = self.next, next(self._episodes, None)
            if on_end is not None:
                on_end(ended)
        return self.next if self.next is not None and self.next.start <= now else None
