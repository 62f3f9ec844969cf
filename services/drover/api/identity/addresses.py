"""E-mail addresses: normalizes them, hashes them to find an account, and seals (encrypts) them to be shown later."""

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
        """Hash the address under every key, the current key first. Accepts any text, so that a sign-in does not reveal
        whether an address is valid."""
        return self._keys.email_hashes(_normal(address))

    def checked(self, address: str) -> str:
        """Normalize the address. Raises 400 if it is invalid, with a message that does not repeat it."""
        address = _normal(address)
        if len(address) > CHARS_MAX or _FORM.fullmatch(address) is None:
            raise not_an_address()
        return address

    def sealed(self, address: str, account_id: str) -> str:
        return self._sealer.seal(address.encode(), context=CONTEXT, subject=account_id)

    def opened(self, sealed: str, account_id: str) -> str | None:
        """Decrypt a sealed address. None if its key was deleted: the account still works, but its address cannot be
        shown."""
        try:
            return self._sealer.open(sealed, context=CONTEXT, subject=account_id).decode()
        except (UnknownSealingKey, SealDamaged) as error:
            log.error("address_cannot_be_opened", user_id=account_id, error=str(error))
            return None

    def resealed(self, sealed: str, account_id: str) -> tuple[tuple[str, ...], str]:
        """Open a sealed address, then hash and seal it again under the current keys. Raises the errors of `Sealer`."""
        address = self._sealer.open(sealed, context=CONTEXT, subject=account_id).decode()
        return self.hashes(address), self._sealer.rewrap(sealed, context=CONTEXT, subject=account_id)


def not_an_address() -> ApiError:
    return invalid("This is not an e-mail address", field="email")


def _normal(address: str) -> str:
    """Normalize an address: surrounding spaces, upper case and the Unicode form make no difference."""
    text = unicodedata.normalize("NFKC", address[: 4 * CHARS_MAX]).strip().casefold()
    return text.encode("utf-8", "replace").decode()
