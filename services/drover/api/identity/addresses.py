"""E-mail addresses: one form for each, hashed to find an account by, sealed to be shown to those who may see it."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

import structlog

from drover.service.identity_keys import IdentityKeys
from drover.service.sealing import SealDamaged, Sealer, UnknownSealingKey
from drover.web.errors import ApiError, invalid

CHARS_MAX: Final = 254
CONTEXT: Final = "identity.email"

_FORM: Final = re.compile(r"[^@\s\x00-\x1f]{1,64}@[^@\s\x00-\x1f]{1,253}")

log = structlog.stdlib.get_logger("drover.identity")


class Addresses:
    def __init__(self, keys: IdentityKeys, sealer: Sealer) -> None:
        self._keys = keys
        self._sealer = sealer

    def hashes(self, address: str) -> tuple[str, ...]:
        """Under the current key first. Of any text: whoever signs in learns nothing about its form."""
        return self._keys.email_hashes(_normal(address))

    def checked(self, address: str) -> str:
        """The one form of an address that an account may have; 400 otherwise, without repeating it."""
        address = _normal(address)
        if len(address) > CHARS_MAX or _FORM.fullmatch(address) is None:
            raise not_an_address()
        return address

    def sealed(self, address: str, account_id: str) -> str:
        return self._sealer.seal(address.encode(), context=CONTEXT, subject=account_id)

    def opened(self, sealed: str, account_id: str) -> str | None:
        """None where the key is gone: the account works on, only its address cannot be shown."""
        try:
            return self._sealer.open(sealed, context=CONTEXT, subject=account_id).decode()
        except (UnknownSealingKey, SealDamaged) as error:
            log.error("address_cannot_be_opened", user_id=account_id, error=str(error))
            return None

    def resealed(self, sealed: str, account_id: str) -> tuple[tuple[str, ...], str]:
        """Hashes and seal of the same address under the current keys. Raises what `Sealer` does."""
        address = self._sealer.open(sealed, context=CONTEXT, subject=account_id).decode()
        return self.hashes(address), self._sealer.rewrap(sealed, context=CONTEXT, subject=account_id)


def not_an_address() -> ApiError:
    return invalid("This is no e-mail address", field="email")


def _normal(address: str) -> str:
    """Spaces around it, case and forms of writing do not make another person."""
    text = unicodedata.normalize("NFKC", address[: 4 * CHARS_MAX]).strip().casefold()
    return text.encode("utf-8", "replace").decode()
