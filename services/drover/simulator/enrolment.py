"""Enrols simulated phones: makes a code for each PC, as an admin, and gets a key for each phone, as the PC's agent."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

import msgspec

from drover.agent.clock import Clock
from drover.agent.enrolment import enrol, insist
from drover.simulator.http import Client
from drover.simulator.phone import Identity


class Enroller:
    """Enrols the phones of all PCs, one request for each PC. A lost answer is asked for again, with the same nonce."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    async def enrol(self, phones: Sequence[Identity], *, email: str, password: str) -> dict[str, str]:
        """Give each phone a key of its own, and return the platform's ids of all, by serial number."""
        credentials = {"email": email, "password": password}
        admin = await self._told("Sign-in", "/auth/v1/token?grant_type=password", credentials)
        by_pc = {pc_id: list(of_pc) for pc_id, of_pc in groupby(sorted(phones, key=_PC), key=_PC)}
        found = await asyncio.gather(
            *(self._enrol_pc(pc_id, of_pc, admin["access_token"]) for pc_id, of_pc in by_pc.items())
        )
        return {serial_number: device_id for ids in found for serial_number, device_id in ids.items()}

    async def _enrol_pc(self, pc_id: str, phones: Sequence[Identity], token: str) -> dict[str, str]:
        wanted = {"pc_id": pc_id, "devices_max": len(phones), "new_pc": True}
        made = await self._told("Making a code", "/api/enrolments", wanted, token=token)
        devices = [{name: value for name, value in phone._asdict().items() if name != "pc_id"} for phone in phones]
        nonce = secrets.token_urlsafe(24)
        enrolled = await enrol(self._client, self._clock, code=made["code"], nonce=nonce, devices=devices)
        self._client.use_keys({phone.serial_number: phone.key for phone in enrolled})
        return {phone.serial_number: phone.device_id for phone in enrolled}

    async def _told(self, what: str, path: str, body: Mapping[str, Any], *, token: str | None = None) -> dict[str, Any]:
        said = await insist(self._client, self._clock, what, path, body, token=token)
        return msgspec.json.decode(said, type=dict[str, Any])


_PC: Final = attrgetter("pc_id")
