"""For tests of changed rows: a publisher that notes what it is given, and a reader that keeps to the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from drover.bus.rows import RowsChanged, RowsHeartbeat
from tests.integration.api.listening import Heard

Row = dict[str, Any]
Read = Callable[[str, str], Awaitable[list[Row]]]
"""(relation, min_position): all its rows."""


class RecordedRows:
    """Notes what is published. `fault`, where there is one, is awaited before each message: it may fail or hang."""

    def __init__(self) -> None:
        self.changes: list[tuple[str, RowsChanged]] = []
        """(relation, message)."""
        self.heartbeats: list[RowsHeartbeat] = []
        self.fault: Callable[[], Awaitable[None]] | None = None

    async def changed(self, context: str, relation: str, message: RowsChanged) -> None:
        if self.fault is not None:
            await self.fault()
        self.changes.append((relation, message))

    async def heartbeat(self, context: str, message: RowsHeartbeat) -> None:
        if self.fault is not None:
            await self.fault()
        self.heartbeats.append(message)

    def of(self, relation: str) -> list[RowsChanged]:
        return [message for name, message in self.changes if name == relation]


def decoded(message: RowsChanged) -> list[Row]:
    return [msgspec.json.decode(row) for row in message.rows]


class Reader:
    """Keeps the rows of some relations by key. It knows of them only by reading them and by the stream."""

    def __init__(self, read: Read) -> None:
        self.rows: dict[str, dict[tuple[Any, ...], Row]] = {}
        self.resets: list[str] = []
        """Why, for each that it heard."""
        self.stale: dict[str, bool] = {}
        self.repeated: list[str] = []
        """Relations of which something was told that it had been told before, or that was older."""
        self._told_to: dict[tuple[str, str], int] = {}
        self._read = read
        self._keys: dict[str, list[str]] = {}
        self._withheld: dict[str, list[str]] = {}
        self._meanwhile: dict[str, list[Row]] = {}
        """What came while a relation is being read: it is applied after that."""
        self._reading: dict[str, asyncio.Task[None]] = {}

    @property
    def is_reading(self) -> bool:
        return any(not task.done() for task in self._reading.values())

    def hear(self, event: Heard, *, is_back: bool = False) -> None:
        """`is_back`: it came back with an id, so that the hello is no reason to read."""
        if event.type == "hello":
            self._keys = {name: told["key"] for name, told in event.data["relations"].items()}
            self._withheld = {name: told["withheld"] for name, told in event.data["relations"].items()}
            if not is_back:
                self._read_again(self._keys, event.data["min_position"])
        elif event.type == "reset":
            self.resets.append(event.data["why"])
            self._read_again(event.data["relations"], event.data["min_position"])
        elif event.type == "lag":
            self.stale[event.data["context"]] = event.data["stale"]
        elif event.type == "rows":
            name = event.data["relation"]
            self._note(name, event.data)
            if name in self._meanwhile:
                self._meanwhile[name].append(event.data)
            else:
                self._apply(name, event.data)

    def _read_again(self, relations: Any, min_position: str) -> None:
        self._told_to = {place: to for place, to in self._told_to.items() if place[0] not in relations}
        for name in relations:
            if (task := self._reading.get(name)) is not None:
                task.cancel()
            self._meanwhile[name] = []
            self._reading[name] = asyncio.ensure_future(self._read_relation(name, min_position))

    async def _read_relation(self, name: str, min_position: str) -> None:
        found = await self._read(name, min_position)
        hidden = dict.fromkeys(self._withheld[name])
        self.rows[name] = {self._key(name, row): row | hidden for row in found}
        for told in self._meanwhile.pop(name):
            self._apply(name, told)

    def _note(self, name: str, told: Row) -> None:
        place = name, told["context"]
        if told["to"] <= self._told_to.get(place, -1):
            self.repeated.append(name)
        self._told_to[place] = told["to"]

    def _apply(self, name: str, told: Row) -> None:
        for row in told["rows"]:
            self.rows[name][self._key(name, row)] = row
        for key in told["gone"]:
            self.rows[name].pop(tuple(key), None)

    def _key(self, name: str, row: Row) -> tuple[Any, ...]:
        return tuple(row[column] for column in self._keys[name])
