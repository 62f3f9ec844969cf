"""Validates and seals (encrypts) gfx_data, the content of a render, when it is written; opens it when it is read. The
log and the read models have it only sealed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from uuid_utils import uuid7

from drover.bus.subject_keys import SubjectKeys
from drover.domain.errors import DroverError
from drover.domain.render.assets import GfxDataInvalid, to_assets
from drover.service.sealing import SealDamaged, UnknownSealingKey
from drover.service.subject_sealing import KeysUnreachable
from drover.web.alarm_texts import NoSealingKeys
from drover.web.errors import invalid, unavailable
from drover.web.gfx_seal import GfxSeal
from drover.web.postgrest.sealed import Open


class GfxDataHidden(DroverError):
    """The caller may read the render queue, but not its column gfx_data."""

    def __init__(self) -> None:
        super().__init__("permission denied for column gfx_data of table render_queue")


class Sealed(msgspec.Struct, frozen=True):
    gfx_id: str
    """The id of this gfx_data, the subject of its key."""
    text: str

    def __str__(self) -> str:
        """Return the value of the column gfx_data, as the database has it."""
        return f"{self.gfx_id} {self.text}"


class GfxData:
    def __init__(self, keys: SubjectKeys | None) -> None:
        """`keys`: None if this process has no sealing keys."""
        self._seal = None if keys is None else GfxSeal(keys)

    async def seal(self, contents: Sequence[dict[str, Any]]) -> list[Sealed]:
        """Seal gfx_data. Raises 503."""
        if self._seal is None:
            raise unavailable("gfx_data cannot be accepted while DROVER_SEALING_KEYS is not set")
        plain = {str(uuid7()): msgspec.json.encode(gfx_data) for gfx_data in contents}
        try:
            sealed = await self._seal.seal(plain)
        except (KeysUnreachable, UnknownSealingKey, SealDamaged) as error:
            raise unavailable(str(error)) from error
        return [Sealed(gfx_id, text) for gfx_id, text in sealed.items()]

    async def opener(self, texts: Sequence[str], *, may: bool) -> Open:
        """Make the function that opens gfx_data in rows, where it is `<gfx_id> <sealed>`. Unless `may`, the function
        raises `GfxDataHidden`."""

        def refuse(relation: str, column: str, text: str) -> bytes:
            raise NoSealingKeys if may else GfxDataHidden

        if not may or self._seal is None:
            return refuse
        parts = {text: text.partition(" ") for text in texts}
        try:
            open_ = await self._seal.opener(sealed for _, _, sealed in parts.values())
        except KeysUnreachable as error:
            raise unavailable(str(error)) from error

        def unseal(relation: str, column: str, text: str) -> bytes:
            gfx_id, _, sealed = text.partition(" ")
            return open_(gfx_id, sealed)

        return unseal


def check_shape(gfx_data: dict[str, Any]) -> None:
    """Raise 400 with the field that does not have the form in document 003 (§3.4.2)."""
    try:
        to_assets(gfx_data, {}, images="/")  # without a mapping, every field is checked
    except GfxDataInvalid as error:
        field = "gfx_data" if error.place == "it" else f"gfx_data.{error.place}"
        raise invalid(f"{field} must be {error.expected}", field=field[:200]) from error
