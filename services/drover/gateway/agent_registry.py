"""Which session speaks for which device. Finding it is one lookup. The registry knows nothing else about sessions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from drover.domain.fleet.state import Device, Fleet

if TYPE_CHECKING:
    from drover.gateway.agent_session import Session


class Scope(msgspec.Struct, frozen=True):
    """The devices that a socket speaks for: one phone, or every phone of a PC, including phones that join later."""

    device_id: str | None = None
    pc_id: str | None = None

    @property
    def subject(self) -> str:
        """The device or the PC, as one text."""
        return f"pc:{self.pc_id}" if self.device_id is None else f"device:{self.device_id}"

    def covers(self, device: Device) -> bool:
        return device.device_id == self.device_id if self.device_id is not None else device.pc_id == self.pc_id

    def devices(self, fleet: Fleet) -> Iterator[Device]:
        if self.device_id is not None:
            yield fleet.devices[self.device_id]
        else:
            assert self.pc_id is not None
            yield from (fleet.devices[device_id] for device_id in fleet.pcs[self.pc_id].devices)


class Registry:
    """The sessions of this process: the newest of each device and of each PC.

    A phone's own socket has priority over its PC's, whichever is newer: otherwise the two would replace each other.
    """

    def __init__(self) -> None:
        self._by_device: dict[str, Session] = {}
        self._by_pc: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._by_device) + len(self._by_pc)

    def __iter__(self) -> Iterator[Session]:
        yield from [*self._by_device.values(), *self._by_pc.values()]

    def enter(self, session: Session) -> Session | None:
        """Add a session. Returns the session to end, if there are two for the same scope: the one with the older
        connection."""
        place, key = self._place(session.scope)
        other = place.get(key)
        if other is not None and other.number > session.number:
            return session
        place[key] = session
        return other

    def leave(self, session: Session) -> None:
        place, key = self._place(session.scope)
        if place.get(key) is session:
            del place[key]

    def session_for(self, device: Device) -> Session | None:
        return self._by_device.get(device.device_id) or self._by_pc.get(device.pc_id)

    def _place(self, scope: Scope) -> tuple[dict[str, Session], str]:
        if scope.device_id is not None:
            return self._by_device, scope.device_id
        assert scope.pc_id is not None
        return self._by_pc, scope.pc_id
