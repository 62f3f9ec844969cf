"""Creates the first admin account, which can create all others, for `drover up`. Elsewhere, use `drover account
add`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import structlog

from drover.api.identity.accounts import new_account
from drover.api.identity.addresses import Addresses
from drover.api.identity.client import IdentityClient
from drover.api.identity.passwords import Passwords
from drover.domain.identity.policy import AccountRole
from drover.hosting.host import FirstAdmin
from drover.web.commands import Origin
from drover.web.errors import ApiError

log = structlog.stdlib.get_logger("drover.identity")


@asynccontextmanager
async def made(
    client: IdentityClient, addresses: Addresses, passwords: Passwords, admin: FirstAdmin
) -> AsyncIterator[None]:
    """Create the account if it is missing. An existing account keeps its changes, such as a new password."""
    try:
        if await client.find(addresses.hashes(admin.email)) is None:
            account_id = str(uuid4())
            command = await new_account(
                addresses, passwords, account_id, admin.email, admin.password, AccountRole.ADMIN
            )
            await client.send(command, Origin(by="up"))
            log.info("first_admin_made", user_id=account_id)
    except ApiError as error:  # do not fail the start of the platform because of an account
        log.error("first_admin_not_made", code=error.code, message=error.message)
    yield
