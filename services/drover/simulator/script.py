"""The script of the farm: what can go wrong there, how often, for how long. Data, and the dice that read it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Final, NamedTuple

HEARTBEAT_EVERY_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that can go wrong with a phone, or with a PC and so with all its phones."""

    name: str
    every_s: float
    """Mean time from the end of one trouble to this one."""
    lasts_s: tuple[float, float]
    """Shortest and longest."""
    stops_agent: bool
    """True: nothing runs on the phone, and what its agent had in memory is gone. False: it runs, its requests fail."""


@dataclass(frozen=True, slots=True)
class Script:
    """What happens on a farm."""

    heartbeat_every_s: float = HEARTBEAT_EVERY_S
    phone_faults: tuple[Fault, ...] = ()
    pc_faults: tuple[Fault, ...] = ()
    boot_s: tuple[float, float] = (8.0, 25.0)
    """From the end of a fault of its PC until a phone's agent runs again: phones do not boot in step."""


CALM: Final = Script()
"""Nothing ever goes wrong."""

# A phone is offline after 30 s of silence: most of these take it there, some are over before anybody notices. With 120
# phones on 6 PCs a phone is lost every 10 s, one crashes every 30 s, and a PC goes dark every 8 minutes.
DEMO: Final = Script(
    phone_faults=(
        Fault("no network", every_s=20 * 60, lasts_s=(15, 120), stops_agent=False),
        Fault("crashed", every_s=60 * 60, lasts_s=(40, 150), stops_agent=True),
    ),
    pc_faults=(Fault("no power", every_s=48 * 60, lasts_s=(45, 180), stops_agent=True),),
)


class Episode(NamedTuple):
    """One trouble of one phone: from `start` until just before `end`, in seconds of the farm's clock."""

    start: float
    end: float
    fault: Fault


def episodes(faults: tuple[Fault, ...], dice: Random) -> Iterator[Episode]:
    """The troubles of one phone or PC, in order and without overlap, for ever. The same dice give the same troubles."""
    if not faults:
        return
    rates = [1 / fault.every_s for fault in faults]
    now = 0.0
    while True:
        start = now + dice.expovariate(sum(rates))
        (fault,) = dice.choices(faults, rates)
        now = start + dice.uniform(*fault.lasts_s)
        yield Episode(start, now, fault)
