"""Who lives on the farm: PCs and phones, each one derived from the seed and its place alone."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from itertools import starmap
from random import Random
from typing import Final

from drover.simulator.phone import Identity, Phone
from drover.simulator.script import Episode, Script, episodes

PCS_MAX: Final = 999
PHONES_PER_PC_MAX: Final = 999
SEED_MAX: Final = 999_999_999
GROUP_SIZE: Final = 5
AGE_VERIFIED_SHARE: Final = 0.7


def pc_id(pc: int) -> str:
    return f"PC-{pc:02d}"


def populate(pcs: int, phones_per_pc: int, seed: int, script: Script) -> list[Phone]:
    """The phones of a farm. The same arguments give the same farm with the same troubles, whatever else happens."""
    assert 1 <= pcs <= PCS_MAX, pcs
    assert 1 <= phones_per_pc <= PHONES_PER_PC_MAX, phones_per_pc
    assert 0 <= seed <= SEED_MAX, seed
    return [_phone(pc, place, seed, script) for pc in range(1, pcs + 1) for place in range(1, phones_per_pc + 1)]


def _phone(pc: int, place: int, seed: int, script: Script) -> Phone:
    serial_number = f"SIM{seed:05d}P{pc:03d}D{place:03d}"
    dice = Random(serial_number)
    capabilities = ("age_verified",) if dice.random() < AGE_VERIFIED_SHARE else ()
    return Phone(
        Identity(serial_number, f"P{pc}-G{(place - 1) // GROUP_SIZE + 1}", pc_id(pc), capabilities),
        first_due_at=dice.uniform(0, script.heartbeat_every_s),  # a farm does not beat in step
        heartbeat_every_s=script.heartbeat_every_s,
        troubles=merge(
            episodes(script.phone_faults, dice),
            _with_boot(
                episodes(script.pc_faults, Random(f"{seed} {pc_id(pc)}")), script, Random(f"{serial_number} boot")
            ),
            key=lambda episode: episode.start,
        ),
    )


def _with_boot(of_pc: Iterator[Episode], script: Script, dice: Random) -> Iterator[Episode]:
    """The PC's troubles as one of its phones lives through them: each lasts until that phone has booted."""
    return starmap(lambda start, end, fault: Episode(start, end + dice.uniform(*script.boot_s), fault), of_pc)
