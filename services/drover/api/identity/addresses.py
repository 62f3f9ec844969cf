"""E-mail addresses: normalized, hashed to find an account, and sealed to show them to those who may see them."""

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
        """Under the current key first. Accepts any text, so that a sign-in reveals nothing about its validity."""
        return self._keys.email_hashes(_normal(address))

    def checked(self, address: str) -> str:
        """The normalized address; 400 if it is invalid, without echoing it."""
        address = _normal(address)
        if len(address) > CHARS_MAX or _FORM.fullmatch(address) is None:
            raise not_an_address()
        return address

    def sealed(self, address: str, account_id: str) -> str:
        return self._sealer.seal(address.encode(), context=CONTEXT, subject=account_id)

    def opened(self, sealed: str, account_id: str) -> str | None:
        """The address in clear text. None if the key is gone: the account still works, but its address cannot be
        shown."""
        try:
            return self._sealer.open(sealed, context=CONTEXT, subject=account_id).decode()
        except (UnknownSealingKey, SealDamaged) as error:
            log.error("address_cannot_be_opened", user_id=account_id, error=str(error))
            return None

    def resealed(self, sealed: str, account_id: str) -> tuple[tuple[str, ...], str]:
        """Hashes and sealed form of the same address under the current keys. Raises the errors of `Sealer`."""
        address = self._sealer.open(sealed, context=CONTEXT, subject=account_id).decode()
        return self.hashes(address), self._sealer.rewrap(sealed, context=CONTEXT, subject=account_id)


def not_an_address() -> ApiError:
    return invalid("This is not an e-mail address", field="email")


def _normal(address: str) -> str:
    """Surrounding spaces, case and Unicode form do not make a different person."""
    text = unicodedata.normalize("NFKC", address[: 4 * CHARS_MAX]).strip().casefold()
    return text.encode("utf-8", "replace").decode()
