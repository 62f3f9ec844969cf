"""Generates the farm's PCs and phones, each from the seed and its position only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import chain, starmap
from pathlib import Path
from random import Random
from typing import Final, Literal

from drover.agent.clock import Clock
from drover.agent.observer import NOT_OBSERVED, Observer
from drover.agent.store import FileStore, MemoryStore, Store
from drover.simulator.phone import Identity, Phone, Speech
from drover.simulator.script import Episode, Script, episodes
from drover.simulator.work import AGE_VERIFIED, player

PCS_MAX: Final = 999
PHONES_PER_PC_MAX: Final = 200
"""Maximum of phones of one PC, as on the platform."""
SEED_MAX: Final = 999_999_999
GROUP_SIZE: Final = 5
AGE_VERIFIED_SHARE: Final = 0.7

Transport = Literal["http", "socket", "mixed"]
SocketFor = Literal["pc", "device"]

StoreOf = Callable[[str], Store]
"""Returns the store of the phone with this serial number."""


@dataclass(frozen=True, slots=True)
class Wiring:
    """How the farm talks to the platform."""

    transport: Transport = "http"
    socket_for: SocketFor = "pc"
    http_every: int = 2

    def speech_of(self, pc: str) -> Speech:
        """Return how the phones of a PC communicate. In a mixed farm, one PC in every `http_every` polls over HTTP; the
        others, including the first one, use a socket."""
        polls = int(pc.removeprefix("PC-")) % self.http_every == 0
        if self.transport == "http" or (self.transport == "mixed" and polls):
            return "http"
        return "pc socket" if self.socket_for == "pc" else "own socket"


HTTP: Final = Wiring()


def pc_id(pc: int) -> str:
    return f"PC-{pc:02d}"


def group_id(pc: int, group: int) -> str:
    return f"P{pc}-G{group}"


def in_memory(serial_number: str) -> Store:
    return MemoryStore()


def in_files(directory: Path, clock: Clock) -> StoreOf:
    """Make stores with one file for each phone."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return lambda serial_number: FileStore(directory / f"{serial_number}.json", clock)


def not_observed(identity: Identity) -> Observer:
    return NOT_OBSERVED


def roll(pcs: int, phones_per_pc: int, seed: int) -> list[Identity]:
    """Generate the identities of all phones of the farm."""
    assert 1 <= pcs <= PCS_MAX, pcs
    assert 1 <= phones_per_pc <= PHONES_PER_PC_MAX, phones_per_pc
    assert 0 <= seed <= SEED_MAX, seed
    return [_identity(pc, place, seed) for pc in range(1, pcs + 1) for place in range(1, phones_per_pc + 1)]


def populate(
    pcs: int,
    phones_per_pc: int,
    seed: int,
    script: Script,
    *,
    wiring: Wiring = HTTP,
    store_of: StoreOf = in_memory,
    observer_of: Callable[[Identity], Observer] = not_observed,
) -> list[Phone]:
    """Generate the phones of a farm. The same arguments always give the same farm with the same faults."""
    return [
        Phone(
            identity,
            player=player(script.show, identity.serial_number, identity.capabilities, seed),
            store=store_of(identity.serial_number),
            speech=wiring.speech_of(identity.pc_id),
            # Spread the heartbeats of the phones.
            first_due_at=Random(f"{identity.serial_number} first").uniform(0, script.heartbeat_every_s),
            heartbeat_every_s=script.heartbeat_every_s,
            troubles=troubles_of(identity, seed, script),
            post=script.post,
            observer=observer_of(identity),
        )
        for identity in roll(pcs, phones_per_pc, seed)
    ]


def troubles_of(identity: Identity, seed: int, script: Script) -> Iterator[Episode]:
    """Generate all faults of one phone: its own, and those of its PC."""
    serial_number = identity.serial_number
    by_chance = episodes(script.phone_faults, Random(f"{serial_number} troubles"), from_s=script.chance_from_s)
    return merge(
        chain(_on_cue(serial_number, script), by_chance),
        _with_boot(troubles_of_pc(identity.pc_id, seed, script), script, Random(f"{serial_number} boot")),
        key=lambda episode: episode.start,
    )


def troubles_of_pc(pc: str, seed: int, script: Script) -> Iterator[Episode]:
    by_chance = episodes(script.pc_faults, Random(f"{seed} {pc}"), from_s=script.chance_from_s)
    return chain(_on_cue(pc, script), by_chance)


def _on_cue(name: str, script: Script) -> Iterator[Episode]:
    """Generate the faults that are certain, of the PC or phone with this name."""
    return (Episode(cue.start_s, cue.end_s, cue.fault) for cue in script.cues if name.endswith(cue.who))


def troubles_of_line(phone: Phone, seed: int, script: Script) -> Iterator[Episode]:
    """Generate the faults of the socket that a phone uses: those of the phone or PC that opens it."""
    if phone.speech == "own socket":
        return troubles_of(phone.identity, seed, script)
    return troubles_of_pc(phone.identity.pc_id, seed, script)


def _identity(pc: int, place: int, seed: int) -> Identity:
    serial_number = f"SIM{seed:05d}P{pc:03d}D{place:03d}"
    verified = Random(serial_number).random() < AGE_VERIFIED_SHARE
    return Identity(
        serial_number, group_id(pc, (place - 1) // GROUP_SIZE + 1), pc_id(pc), (AGE_VERIFIED,) if verified else ()
    )


def _with_boot(of_pc: Iterator[Episode], script: Script, dice: Random) -> Iterator[Episode]:
    """Generate the faults of a PC for one of its phones: each lasts until that phone has booted again."""
    return starmap(lambda start, end, fault: Episode(start, end + dice.uniform(*script.boot_s), fault), of_pc)
