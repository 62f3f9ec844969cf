"""Seals (encrypts) the IP addresses of the audit with the keys of their actors, and opens them. The only place that
does so."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Self

import structlog

from drover.api.identity.personal_data import PersonalData
from drover.bus.subject_keys import SubjectKeys
from drover.service.sealing import SealDamaged, UnknownSealingKey
from drover.service.subject_sealing import Erased

PURPOSE: Final = "identity.network_address"

OpenNetworkAddress = Callable[[str | None, str], str | None]
"""Called with (sealed address, actor); returns the IP address. None: there is no address, or its key was destroyed or
deleted."""

log = structlog.stdlib.get_logger("drover.audit")


class NetworkAddresses:
    def __init__(self, personal: PersonalData | None) -> None:
        """`personal`: None without sealing keys. Then no address is recorded, because the log must not have it in clear
        text."""
        self._personal = personal

    @classmethod
    def of(cls, keys: SubjectKeys | None) -> Self:
        return cls(None if keys is None else PersonalData(keys))

    async def sealed(self, address: str | None, by: str) -> str | None:
        """Seal the IP address of an actor with the actor's key. None if that key cannot be read: then the access is
        recorded without its address. Raises KeysUnreachable."""
        if address is None or self._personal is None:
            return None
        try:
            return await self._personal.seal(address, subject=by, purpose=PURPOSE)
        except (UnknownSealingKey, SealDamaged) as error:
            log.error("address_cannot_be_sealed", by=by, error=str(error))
            return None

    async def opener(self, texts: Iterable[str | None]) -> OpenNetworkAddress:
        """Get the keys of these addresses, all at once, and return the function that opens them. Raises
        KeysUnreachable."""
        if self._personal is None:
            return open_nothing
        opener = await self._personal.opener(texts)

        def open_(sealed: str | None, by: str) -> str | None:
            try:
                return None if sealed is None else opener.open(sealed, subject=by, purpose=PURPOSE, before=by)
            except Erased:
                return None
            except (UnknownSealingKey, SealDamaged) as error:
                log.error("address_cannot_be_opened", by=by, error=str(error))
                return None

        return open_


def open_nothing(sealed: str | None, by: str) -> str | None:
    return None
