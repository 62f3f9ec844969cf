"""Stores the progress of many simulated phones in one file, when the program ends normally."""

from __future__ import annotations

from pathlib import Path

import msgspec

from drover.agent.clock import Clock
from drover.agent.store import Filed, MemoryStore, Store
from drover.service.private_file import write_private


class Shelf:
    """The memory stores of many phones. `save` writes them all to one file, so that they survive a normal end of the
    program."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._stores: dict[str, MemoryStore] = {}
        try:
            self._filed = msgspec.json.decode(path.read_bytes(), type=dict[str, Filed])
        except (OSError, msgspec.DecodeError):
            self._filed = {}

    def store_of(self, serial_number: str) -> Store:
        store = self._stores[serial_number] = MemoryStore()
        if (filed := self._filed.pop(serial_number, None)) is not None:
            store.keep(filed.restored(self._clock))
        return store

    def save(self) -> None:
        held = {serial: kept for serial, store in self._stores.items() if (kept := store.recall()) is not None}
        write_private(
            self._path, msgspec.json.encode({serial: Filed.of(kept, self._clock) for serial, kept in held.items()})
        )
