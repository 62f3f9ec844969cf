"""E-mail addresses: normalizes them, hashes them to find an account, and seals (encrypts) them with the key of their
person, to be shown later."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Final

import structlog

from drover.api.identity.personal_data import OpenPersonal, PersonalData
from drover.domain.erasure import parse_sealed
from drover.domain.identity.subjects import person
from drover.service.identity_keys import IdentityKeys
from drover.service.sealing import SealDamaged, UnknownSealingKey
from drover.service.subject_sealing import CANNOT_OPEN, KeysUnreachable
from drover.web.errors import ApiError, invalid, unavailable

CHARS_MAX: Final = 254
PURPOSE: Final = "identity.email"

OpenAddress = Callable[[str, str], str | None]
"""Called with (sealed address, account id). None if it cannot be read."""

_FORM: Final = re.compile(r"[^@\s\x00-\x1f]{1,64}@[^@\s\x00-\x1f]{1,253}")

log = structlog.stdlib.get_logger("drover.identity")


class Addresses:
    def __init__(self, keys: IdentityKeys, personal: PersonalData) -> None:
        self._keys = keys
        self._personal = personal

    def hashes(self, address: str) -> tuple[str, ...]:
        """Hash the address under every key, the current key first. Accepts any text, so that a sign-in does not reveal
        whether an address is valid."""
        return self._keys.email_hashes(_normal(address))

    def checked(self, address: str) -> str:
        """Normalize the address. Raises 400 if it is invalid, with a message that does not repeat it."""
        address = _normal(address)
        if len(address) > CHARS_MAX or _FORM.fullmatch(address) is None:
            raise not_an_address()
        return address

    async def sealed(self, address: str, account_id: str) -> str:
        """Seal an address with the key of its person. Raises 503."""
        try:
            return await self._personal.seal(address, subject=person(account_id), purpose=PURPOSE)
        except (KeysUnreachable, UnknownSealingKey, SealDamaged) as error:
            raise unavailable(str(error)) from error

    async def opener(self, texts: Iterable[str]) -> OpenAddress:
        """Get the keys of these sealed addresses, all at once, and return the function that opens them. Raises 503."""
        try:
            opener = await self._personal.opener(texts)
        except KeysUnreachable as error:
            raise unavailable(str(error)) from error

        def open_(sealed: str, account_id: str) -> str | None:
            try:
                return _open(opener, sealed, account_id)
            except CANNOT_OPEN as error:
                log.error("address_cannot_be_opened", user_id=account_id, error=str(error))
                return None

        return open_

    async def opened(self, sealed: str, account_id: str) -> str | None:
        """Decrypt a sealed address. None if its key was deleted: the account still works, but its address cannot be
        shown. Raises 503."""
        return (await self.opener([sealed]))(sealed, account_id)

    async def resealed(self, sealed: str, account_id: str) -> tuple[tuple[str, ...], str]:
        """Return the hashes of a sealed address under the current keys, and the address, sealed with the key of its
        person. It is sealed again only if an earlier release has sealed it. Raises Erased, SealDamaged,
        UnknownSealingKey or 503."""
        try:
            address = _open(await self._personal.opener([sealed]), sealed, account_id)
        except KeysUnreachable as error:
            raise unavailable(str(error)) from error
        is_new = parse_sealed(sealed) is not None
        return self.hashes(address), sealed if is_new else await self.sealed(address, account_id)


def _open(opener: OpenPersonal, sealed: str, account_id: str) -> str:
    return opener.open(sealed, subject=person(account_id), purpose=PURPOSE, before=account_id)


def not_an_address() -> ApiError:
    return invalid("This is not an e-mail address", field="email")


def _normal(address: str) -> str:
    """Normalize an address: surrounding spaces, upper case and the Unicode form make no difference."""
    text = unicodedata.normalize("NFKC", address[: 4 * CHARS_MAX]).strip().casefold()
    return text.encode("utf-8", "replace").decode()
