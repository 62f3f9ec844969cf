"""Validates and seals (encrypts) gfx_data, the content of a render, when it is written; opens it when it is read. The
log and the read models have it only sealed."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from uuid_utils import uuid7

from drover.domain.errors import DroverError
from drover.domain.render.assets import GfxDataInvalid, to_assets
from drover.service.sealing import Sealer
from drover.web.errors import invalid, unavailable
from drover.web.postgrest.sealed import Unseal

CONTEXT: Final = "render"


class GfxDataHidden(DroverError):
    """The caller may read the render queue, but not its column gfx_data."""

    def __init__(self) -> None:
        super().__init__("permission denied for column gfx_data of table render_queue")


class NoSealingKeys(DroverError):
    """No sealing keys are set, so gfx_data cannot be opened."""

    def __init__(self) -> None:
        super().__init__("DROVER_SEALING_KEYS is not set")


class Sealed(msgspec.Struct, frozen=True):
    gfx_id: str
    """The id of this gfx_data. The seal is bound to it."""
    text: str


class GfxData:
    def __init__(self, sealer: Sealer | None) -> None:
        self._sealer = sealer

    def seal(self, gfx_data: dict[str, Any]) -> Sealed:
        """Validate and seal gfx_data. Raises 400 with the field that does not have the form in document 003
        (§3.4.2)."""
        check_shape(gfx_data)
        if self._sealer is None:
            raise unavailable("gfx_data cannot be accepted while DROVER_SEALING_KEYS is not set")
        gfx_id = str(uuid7())
        plaintext = msgspec.json.encode(gfx_data)
        return Sealed(gfx_id, self._sealer.seal(plaintext, context=CONTEXT, subject=gfx_id))

    def open(self, sealed: Sealed) -> bytes:
        """Return the JSON that was sealed."""
        if self._sealer is None:
            raise NoSealingKeys
        return self._sealer.open(sealed.text, context=CONTEXT, subject=sealed.gfx_id)

    def opener(self, *, may: bool) -> Unseal:
        """Make the function that opens gfx_data in the rows of a read, where it is `<gfx_id> <sealed>`. Unless `may`,
        the function raises `GfxDataHidden`."""

        def unseal(relation: str, column: str, text: str) -> bytes:
            if not may:
                raise GfxDataHidden
            gfx_id, _, sealed = text.partition(" ")
            return self.open(Sealed(gfx_id, sealed))

        return unseal


def check_shape(gfx_data: dict[str, Any]) -> None:
    try:
        to_assets(gfx_data, {}, images="/")  # without a mapping, every field is checked
    except GfxDataInvalid as error:
        field = "gfx_data" if error.place == "it" else f"gfx_data.{error.place}"
        raise invalid(f"{field} must be {error.expected}", field=field[:200]) from error
