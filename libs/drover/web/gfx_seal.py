"""Seals (encrypts) gfx_data, the content of a render, with the render's own key, and opens it.

Earlier releases put the encrypted key into the sealed text itself; the sealing keys of the settings (the ring) open
such texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from drover.bus.subject_keys import SubjectKeys
from drover.domain.erasure import parse_sealed
from drover.service.sealing import Sealer

CONTEXT: Final = "render"
PURPOSE: Final = "gfx_data"

OpenGfx = Callable[[str, str], bytes]
"""Opens a sealed gfx_data. Called with (gfx_id, sealed text). Raises Erased, SealDamaged or UnknownSealingKey."""


class GfxSeal:
    def __init__(self, keys: SubjectKeys) -> None:
        self._keys = keys
        self._sealer = Sealer(keys.ring)

    async def seal(self, contents: Mapping[str, bytes]) -> dict[str, str]:
        """Seal contents. Both dicts have the gfx_id as key. Raises KeysUnreachable."""
        keys = await self._keys.for_sealing(contents)
        return {gfx_id: keys[gfx_id].seal(content, purpose=PURPOSE) for gfx_id, content in contents.items()}

    async def opener(self, texts: Iterable[str]) -> OpenGfx:
        """Get the keys of these texts with one request, and return the function that opens them. Raises
        KeysUnreachable."""
        opener = await self._keys.for_opening(texts)

        def open_(gfx_id: str, text: str) -> bytes:
            if parse_sealed(text) is None:
                return self._sealer.open(text, context=CONTEXT, subject=gfx_id)
            return opener.open(text, purpose=PURPOSE)

        return open_

    async def open(self, gfx_id: str, text: str) -> bytes:
        return (await self.opener([text]))(gfx_id, text)
