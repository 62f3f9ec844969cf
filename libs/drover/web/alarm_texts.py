"""Seals (encrypts) the titles and bodies of alarms with the keys of their users, and opens them. Alarms of earlier
releases have plain texts, which are shown as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from drover.bus.subject_keys import SubjectKeys
from drover.domain.erasure import parse_sealed
from drover.domain.errors import DroverError
from drover.service.sealing import SealDamaged, UnknownSealingKey
from drover.service.subject_sealing import KeysUnreachable
from drover.web.errors import unavailable

CONTEXT: Final = "reminder"
COLUMNS: Final = ("title", "body")
NO_KEYS: Final = "The texts of alarms are personal data, and this process cannot seal them: set DROVER_SEALING_KEYS"

Seal = Callable[[str, str, str], str]
"""Seals a text. Called with (user id, column, text). An empty text stays empty."""
OpenText = Callable[[str, str], str]
"""Opens a text. Called with (column, text). Raises Erased, SealDamaged or UnknownSealingKey."""


class NoSealingKeys(DroverError):
    """This process has no sealing keys."""

    def __init__(self) -> None:
        super().__init__("DROVER_SEALING_KEYS is not set")


class AlarmTexts:
    def __init__(self, keys: SubjectKeys | None) -> None:
        """`keys`: None if this process has no sealing keys."""
        self._keys = keys

    async def sealer(self, user_ids: Iterable[str]) -> Seal:
        """Get the keys of these users with one request, and return the function that seals their texts. Raises 503."""
        wanted = set(user_ids)
        if not wanted:
            return _seal_nothing
        if self._keys is None:
            raise unavailable(NO_KEYS)
        try:
            keys = await self._keys.for_sealing(wanted)
        except (KeysUnreachable, UnknownSealingKey, SealDamaged) as error:
            raise unavailable(str(error)) from error

        def seal(user_id: str, column: str, text: str) -> str:
            return keys[user_id].seal(text.encode(), purpose=column) if text else ""

        return seal

    async def opener(self, texts: Iterable[str | None]) -> OpenText:
        """Get the keys of these texts with one request, and return the function that opens them. Raises KeysUnreachable
        or NoSealingKeys."""
        sealed = [text for text in texts if text and parse_sealed(text) is not None]
        if not sealed:
            return _as_it_is
        if self._keys is None:
            raise NoSealingKeys
        opener = await self._keys.for_opening(sealed)

        def open_(column: str, text: str) -> str:
            if parse_sealed(text) is None:
                return text
            return opener.open(text, purpose=column).decode()

        return open_

    async def shown(self, rows: Sequence[dict[str, str | None]]) -> list[dict[str, str | None]]:
        """Open the titles and bodies of rows, for an answer. Those of erased users become null. Raises 503."""
        try:
            open_ = await self.opener(row.get(column) for row in rows for column in COLUMNS)
        except (KeysUnreachable, NoSealingKeys) as error:
            raise unavailable(str(error)) from error
        return [row | {name: _shown(open_, name, row[name]) for name in COLUMNS if name in row} for row in rows]


def _shown(open_: OpenText, column: str, text: str | None) -> str | None:
    try:
        return None if text is None else open_(column, text)
    except DroverError:
        return None


def _as_it_is(column: str, text: str) -> str:
    return text


def _seal_nothing(user_id: str, column: str, text: str) -> str:
    assert not text
    return ""
