"""Records the accesses that all services send: seals their addresses, and sends the commands."""

from __future__ import annotations

import asyncio
from typing import Final

from drover.api.audit.network_addresses import NetworkAddresses
from drover.api.identity.user_agents import label
from drover.bus.audit import Access
from drover.bus.messages import Bus, Rejected
from drover.domain.errors import Code
from drover.domain.identity import IDENTITY
from drover.domain.identity.audit import RecordAccess
from drover.service.subject_sealing import KeysUnreachable

COMMAND_S: Final = 4.0
"""Time-out in seconds for recording one access, including the key that seals its address. After it, the sender tries
again with the same id."""


class Recording:
    def __init__(self, bus: Bus, addresses: NetworkAddresses) -> None:
        self._bus = bus
        self._addresses = addresses

    async def record(self, access: Access) -> str | None:
        """Record an access. Returns None once it is on disk; otherwise the code of the refusal, or UNAVAILABLE."""
        try:
            async with asyncio.timeout(COMMAND_S):
                command = RecordAccess(
                    access_id=access.id,
                    kind=access.kind,
                    what=access.what,
                    user_agent=label(access.user_agent),
                    address_sealed=await self._addresses.sealed(access.address, access.by),
                )
                outcome = await self._bus.send(
                    IDENTITY.context, command, by=access.by, id=access.id, trace=access.trace
                )
        except (TimeoutError, KeysUnreachable):
            return Code.UNAVAILABLE
        return outcome.code if isinstance(outcome, Rejected) else None
