"""Keys as a process knows them, without a bucket: tests revoke and adopt them at will."""

from __future__ import annotations

from collections.abc import Callable

from drover.service.identity_keys import IdentityKeys
from drover.web.key_book import unknown_keys
from drover.web.key_bucket import Adopted


class KnownKeys:
    def __init__(self, *secrets: str) -> None:
        self.version = 0
        self.listeners: list[Callable[[], None]] = []
        self.is_current = True
        self.revoked: set[str] = set()
        self.by_digest: dict[str, Adopted] = {}
        self.signing = IdentityKeys(secrets or ["s" * 32])

    def check_current(self) -> None:
        if not self.is_current:
            raise unknown_keys("cut off")

    def is_revoked(self, name: str) -> bool:
        return name in self.revoked

    def adopted(self, digest: str) -> Adopted | None:
        return self.by_digest.get(digest)

    def api_key(self, kid: str):
        return {pair.kid: pair.public for pair in self.signing.api}.get(kid)

    def person_key(self, kid: str):
        return self.signing.person_key(kid)

    def revoke(self, *names: str) -> None:
        self.revoked.update(names)
        self.tell()

    def cut_off(self) -> None:
        self.is_current = False
        self.tell()

    def tell(self) -> None:
        for listener in self.listeners:
            listener()
