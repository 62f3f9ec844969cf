"""Seals (encrypts) what identity knows of people, with the key of each person, and opens it.

A text that an earlier release sealed contains a key of its own, which the sealing keys of this process (the ring)
decrypt.
"""

from __future__ import annotations

from collections.abc import Iterable

from drover.bus.subject_keys import Opener, SubjectKeys
from drover.domain.erasure import parse_sealed, token_of
from drover.domain.identity.subjects import CONTEXT
from drover.service.sealing import SealDamaged, Sealer


class OpenPersonal:
    """Opens sealed texts with the keys that `PersonalData.opener` has fetched for them."""

    def __init__(self, opener: Opener, sealer: Sealer) -> None:
        self._opener = opener
        self._sealer = sealer

    def open(self, text: str, *, subject: str, purpose: str, before: str) -> str:
        """Decrypt a text that belongs to this subject. `before`: the name of the subject in texts of earlier releases.
        Raises Erased, SealDamaged or UnknownSealingKey."""
        sealed = parse_sealed(text)
        if sealed is None:
            return self._sealer.open(text, context=purpose, subject=before).decode()
        # A sealed text says itself which key opens it. Without this check, the text of another person would be accepted
        # here.
        if sealed.ref.token != token_of(CONTEXT, subject):
            raise SealDamaged("it belongs to somebody else")
        return self._opener.open(text, purpose=purpose).decode()


class PersonalData:
    def __init__(self, keys: SubjectKeys) -> None:
        self._keys = keys
        self._sealer = Sealer(keys.ring)

    async def seal(self, text: str, *, subject: str, purpose: str) -> str:
        """Encrypt a text with the key of a subject, which is stored before this returns. `purpose`: what the text is;
        only with the same purpose it can be opened. Raises KeysUnreachable, UnknownSealingKey or SealDamaged."""
        key = (await self._keys.for_sealing([subject]))[subject]
        return key.seal(text.encode(), purpose=purpose)

    async def opener(self, texts: Iterable[str | None], *, fresh: bool = False) -> OpenPersonal:
        """Get the keys of these texts, all at once, and return what opens the texts. `fresh`: get all keys from the
        leader, even those that this process has cached. Raises KeysUnreachable."""
        opener = await self._keys.for_opening((text for text in texts if text), fresh=fresh)
        return OpenPersonal(opener, self._sealer)
