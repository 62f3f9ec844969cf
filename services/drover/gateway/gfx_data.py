"""gfx_data at the edge: checked and sealed on its way in, opened on its way out. Nothing behind the edge sees it."""

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
    """The caller may read the queue, and not this."""

    def __init__(self) -> None:
        super().__init__("permission denied for column gfx_data of table render_queue")


class NoSealingKeys(DroverError):
    """There is no key to open it with."""

    def __init__(self) -> None:
        super().__init__("DROVER_SEALING_KEYS is not set")


class Sealed(msgspec.Struct, frozen=True):
    gfx_id: str
    """What the seal is bound to."""
    text: str


class GfxData:
    def __init__(self, sealer: Sealer | None) -> None:
        self._sealer = sealer

    def seal(self, gfx_data: dict[str, Any]) -> Sealed:
        """400 with the place where it is not what 003 §3.4.2 describes."""
        check_shape(gfx_data)
        if self._sealer is None:
            raise unavailable("gfx_data cannot be taken in while DROVER_SEALING_KEYS is not set")
        gfx_id = str(uuid7())
        plaintext = msgspec.json.encode(gfx_data)
        return Sealed(gfx_id, self._sealer.seal(plaintext, context=CONTEXT, subject=gfx_id))

    def open(self, sealed: Sealed) -> bytes:
        """The JSON that was sealed."""
        if self._sealer is None:
            raise NoSealingKeys
        return self._sealer.open(sealed.text, context=CONTEXT, subject=sealed.gfx_id)

    def opener(self, *, may: bool) -> Unseal:
        """For the rows of a read, whose gfx_data is `<gfx_id> <sealed>`."""

        def unseal(relation: str, column: str, text: str) -> bytes:
            if not may:
                raise GfxDataHidden
            gfx_id, _, sealed = text.partition(" ")
            return self.open(Sealed(gfx_id, sealed))

        return unseal


def check_shape(gfx_data: dict[str, Any]) -> None:
    try:
        to_assets(gfx_data, {}, images="/")  # without a mapping all of it is unmapped, and all of it is looked at
    except GfxDataInvalid as error:
        field = "gfx_data" if error.place == "it" else f"gfx_data.{error.place}"
        raise invalid(f"{field} must be {error.expected}", field=field[:200]) from error
