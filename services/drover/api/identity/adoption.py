"""Adopts API keys: records keys that were issued without a record, by their digest, so that they can be revoked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import structlog

from drover.api.identity.client import IdentityClient
from drover.domain.identity.commands import AdoptApiKey
from drover.domain.identity.policy import API_KEY_VALID_S_MAX
from drover.hosting.host import FirstKey
from drover.service.api_keys import digest_of
from drover.service.verified_keys import VerifiedKey
from drover.web.commands import Origin
from drover.web.errors import ApiError

log = structlog.stdlib.get_logger("drover.identity")


def adoption_of(name: str, token: str, known: VerifiedKey) -> AdoptApiKey:
    """Make the command that records a key. A key without an expiry gets one: the longest that is possible."""
    return AdoptApiKey(
        key_id=str(known.jti or uuid4()),
        name=name,
        key_role=known.role.value,
        digest=digest_of(token),
        expires_at=known.expires_at or datetime.now(UTC) + timedelta(seconds=API_KEY_VALID_S_MAX),
        device_id=None if known.device_id is None else str(known.device_id),
    )


@asynccontextmanager
async def adopted(client: IdentityClient, keys: Sequence[FirstKey]) -> AsyncIterator[None]:
    """Record the keys that `drover up` has written into credentials.json."""
    for key in keys:
        try:
            await client.send(adoption_of(key.name, key.token, key.known), Origin(by="up"))
        except ApiError as error:  # do not fail the start of the platform because of a key
            log.error("key_not_adopted", name=key.name, code=error.code, message=error.message)
    yield
