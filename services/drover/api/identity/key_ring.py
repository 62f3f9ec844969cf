"""`/api/keys/signing`: lists the secrets that this process signs with or still accepts, by names that reveal nothing
about them.

During a rotation, the list shows whether every process of `api` has both the old and the new secret. API keys
themselves are in `keys`.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from hmac import digest
from typing import Final, Literal

import msgspec
from aiohttp import web

from drover.api.identity.answers import route
from drover.domain.identity import IDENTITY
from drover.domain.identity.audit import AccessKind
from drover.service.config import Settings
from drover.service.identity_keys import IdentityKeys
from drover.web.answers import NO_STORE, json_answer
from drover.web.auth import Principal
from drover.web.permissions import Verb
from drover.web.route import Answer, Permission, handles

_PURPOSE: Final = b"drover: the name of a secret"
_NAME_BYTES: Final = 4


class KeyInUse(msgspec.Struct):
    id: str
    """A name that reveals nothing about the key. The same secret has the same name everywhere."""
    use: Literal["current", "former"]
    """`current`: signs or seals. `former`: being rotated in or out; its signatures are accepted, but it makes no new
    ones."""


class KeyRing(msgspec.Struct):
    """The secrets of the process that answers."""

    instance: str
    api_keys: list[KeyInUse]
    """The keys that sign the API keys of agents and back offices. They are derived from DROVER_IDENTITY_SECRETS."""
    shared_secrets: list[KeyInUse]
    """The secrets in DROVER_JWT_SECRETS, which verify API keys without an id."""
    access_tokens: list[KeyInUse]
    """The keys that sign people's tokens, as in `/auth/v1/.well-known/jwks.json`. They are derived from
    DROVER_IDENTITY_SECRETS."""
    sealing: list[KeyInUse]
    """The keys in DROVER_IDENTITY_SEALING_KEYS or DROVER_SEALING_KEYS, which encrypt personal fields of accounts."""


def key_ring(settings: Settings) -> KeyRing:
    keys = IdentityKeys(settings.identity_secrets)
    return KeyRing(
        instance=settings.instance,
        api_keys=_in_use([pair.kid for pair in keys.api]),
        shared_secrets=_in_use([name_of(secret) for secret in settings.jwt_secrets]),
        access_tokens=_in_use([pair.kid for pair in keys.access]),
        sealing=_in_use([key.partition(":")[0] for key in settings.sealing_ring(IDENTITY.context)]),
    )


def name_of(secret: str) -> str:
    return digest(secret.encode(), _PURPOSE, sha256)[:_NAME_BYTES].hex()


def _in_use(names: Sequence[str]) -> list[KeyInUse]:
    return [KeyInUse(name, "former" if place else "current") for place, name in enumerate(names)]


class KeyRings:
    def __init__(self, settings: Settings) -> None:
        self._ring = key_ring(settings)

    @handles(
        route(
            "GET",
            "/api/keys/signing",
            id="getKeyRing",
            tag="accounts",
            summary="Which keys sign, and which are still accepted, by name; for admins",
            permission=Permission("keys", Verb.READ),
            audited=AccessKind.KEYS,
            answer=Answer(KeyRing, "The keys of the process that answers"),
        )
    )
    async def get(self, request: web.Request, principal: Principal) -> web.Response:
        return json_answer(self._ring, headers=NO_STORE)
