"""Opens the personal data in rows, for callers who may see it: one function for all relations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from drover.gateway.gfx_data import GfxData
from drover.service.subject_sealing import KeysUnreachable
from drover.web.alarm_texts import AlarmTexts, NoSealingKeys
from drover.web.auth import Principal
from drover.web.errors import unavailable
from drover.web.permissions import Permissions, Verb
from drover.web.postgrest.sealed import Open, Unseal

GFX_DATA: Final = "render_queue.gfx_data"
"""The name by which the table of permissions has the column gfx_data."""


class PersonalData:
    def __init__(self, permissions: Permissions, gfx_data: GfxData, alarm_texts: AlarmTexts) -> None:
        self._permissions = permissions
        self._gfx_data = gfx_data
        self._alarm_texts = alarm_texts

    def unseal(self, principal: Principal) -> Unseal:
        """Make the function that opens sealed columns for this caller."""
        may = self._permissions.may(principal, GFX_DATA, Verb.READ)

        async def unseal(texts: Sequence[str]) -> Open:
            gfx_data = await self._gfx_data.opener(texts, may=may)
            try:
                alarm_text = await self._alarm_texts.opener(texts)
            except (KeysUnreachable, NoSealingKeys) as error:
                raise unavailable(str(error)) from error

            def open_(relation: str, column: str, text: str) -> bytes:
                if relation == "alarm":
                    return msgspec.json.encode(alarm_text(column, text))
                return gfx_data(relation, column, text)

            return open_

        return unseal
