"""`/api/accounts`: admins manage people's accounts. E-mail addresses are decrypted here, for callers who may see
them."""

from __future__ import annotations

from typing import Any, Final
from uuid import uuid4

import msgspec
from aiohttp import web
from msgspec import UNSET, UnsetType

from drover.api.identity.addresses import Addresses, OpenAddress
from drover.api.identity.answers import NO_BODY, Ended, People, Person, Sessions, route
from drover.api.identity.bodies import PRIVATE, read, respond
from drover.api.identity.client import IdentityClient
from drover.api.identity.issuing import Issuing
from drover.api.identity.passwords import Passwords
from drover.domain.decider import Command
from drover.domain.identity.audit import AccessKind
from drover.domain.identity.commands import (
    ChangePassword,
    ChangeRole,
    CreateAccount,
    DisableAccount,
    EnableAccount,
    EndAllSessions,
    EndSession,
    ListSessions,
)
from drover.domain.identity.policy import AccountRole
from drover.postgres.errors import POSTGRES_AWAY
from drover.postgres.pool import Pool
from drover.readmodel.form import placed
from drover.web.auth import Principal
from drover.web.commands import origin_of
from drover.web.errors import invalid, unavailable
from drover.web.permissions import Verb
from drover.web.query import read_number
from drover.web.route import BEHIND, POSITION, Answer, Parameter, Permission, handles, in_path

PAGE_MAX: Final = 200
OFFSET_MAX: Final = 1_000_000
QUERY_S: Final = 5.0
BY_ADMIN: Final = "by_admin"

_LISTED: Final = """
SELECT id, email_sealed, role, disabled, created_at, updated_at, last_sign_in_at
FROM rm_identity.account_rows ORDER BY created_at, id LIMIT $1 OFFSET $2
"""


class NewAccount(msgspec.Struct, forbid_unknown_fields=True):
    email: str
    password: str
    role: AccountRole = AccountRole.VIEWER


class Change(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request to change an account: exactly one field, because each change is a separate decision."""

    role: AccountRole | UnsetType = UNSET
    disabled: bool | UnsetType = UNSET
    password: str | UnsetType = UNSET


_ID: Final = in_path("id", str, "The account's id.")


class Accounts:
    def __init__(
        self,
        issuing: Issuing,
        client: IdentityClient,
        addresses: Addresses,
        passwords: Passwords,
        pool: Pool,
    ) -> None:
        self._issuing = issuing
        self._client = client
        self._addresses = addresses
        self._passwords = passwords
        self._pool = pool

    @handles(
        route(
            "GET",
            "/api/accounts",
            id="listAccounts",
            tag="accounts",
            summary="All accounts, for admins",
            permission=Permission("accounts", Verb.READ),
            audited=AccessKind.PEOPLE,
            parameters=(
                Parameter("limit", int, f"At most {PAGE_MAX}."),
                Parameter("offset", int, "How many to skip."),
            ),
            answer=Answer(People, "Oldest first", headers=BEHIND),
        )
    )
    async def list(self, request: web.Request, admin: Principal) -> web.Response:
        limit = read_number(request.query, "limit", default=PAGE_MAX, least=0, most=PAGE_MAX)
        offset = read_number(request.query, "offset", default=0, least=0, most=OFFSET_MAX)
        behind = await self._client.readable(request.headers)
        try:
            rows = await self._pool.fetch(placed(_LISTED), limit, offset, timeout=QUERY_S)
        except POSTGRES_AWAY as error:
            raise unavailable("The read model is unavailable") from error
        open_ = await self._addresses.opener(row["email_sealed"] for row in rows)
        return respond({"accounts": [_shown(row, open_) for row in rows]}, headers=behind)

    @handles(
        route(
            "POST",
            "/api/accounts",
            id="createAccount",
            tag="accounts",
            summary="Create an account",
            permission=Permission("accounts", Verb.CREATE),
            body=NewAccount,
            answer=Answer(Person, "Made", headers=POSITION),
            status=201,
            errors=(409, 413, 415),
        )
    )
    async def create(self, request: web.Request, admin: Principal) -> web.Response:
        body = await read(request, NewAccount)
        account_id = str(uuid4())
        command = await new_account(self._addresses, self._passwords, account_id, body.email, body.password, body.role)
        done = await self._client.send(command, origin_of(admin))
        headers = self._client.position_headers(done.position)
        return respond(await self._shown(account_id), status=201, headers=headers)

    @handles(
        route(
            "GET",
            "/api/accounts/{id}",
            id="getAccount",
            tag="accounts",
            summary="One account",
            permission=Permission("accounts", Verb.READ),
            audited=AccessKind.PEOPLE,
            parameters=(_ID,),
            answer=Answer(Person),
            errors=(404,),
        )
    )
    async def get(self, request: web.Request, admin: Principal) -> web.Response:
        return respond(await self._shown(request.match_info["id"]))

    @handles(
        route(
            "PATCH",
            "/api/accounts/{id}",
            id="changeAccount",
            tag="accounts",
            summary="Change role, password or disabled, one at a time",
            permission=Permission("accounts", Verb.UPDATE),
            parameters=(_ID,),
            body=Change,
            answer=Answer(Person, "The changed account", headers=POSITION),
            errors=(404, 409, 413, 415),
        )
    )
    async def change(self, request: web.Request, admin: Principal) -> web.Response:
        body = await read(request, Change)
        account_id = request.match_info["id"]
        done = await self._client.send(await self._command(account_id, body), origin_of(admin))
        return respond(await self._shown(account_id), headers=self._client.position_headers(done.position))

    @handles(
        route(
            "GET",
            "/api/accounts/{id}/sessions",
            id="listSessions",
            tag="accounts",
            summary="Sessions of an account",
            permission=Permission("sessions", Verb.READ),
            audited=AccessKind.PEOPLE,
            parameters=(_ID,),
            answer=Answer(Sessions),
            errors=(404,),
        )
    )
    async def sessions(self, request: web.Request, admin: Principal) -> web.Response:
        listed = await self._client.send(ListSessions(request.match_info["id"]), origin_of(admin))
        return respond({"sessions": listed.result})

    @handles(
        route(
            "DELETE",
            "/api/accounts/{id}/sessions",
            id="endSessions",
            tag="accounts",
            summary="End all sessions of an account",
            permission=Permission("sessions", Verb.DELETE),
            parameters=(_ID,),
            answer=Answer(Ended, headers=POSITION),
            errors=(404,),
        )
    )
    async def end_all(self, request: web.Request, admin: Principal) -> web.Response:
        command = EndAllSessions(request.match_info["id"], reason=BY_ADMIN)
        done = await self._client.send(command, origin_of(admin))
        headers = self._client.position_headers(done.position)
        return respond({"ended": (done.result or {}).get("ended", 0)}, headers=headers)

    @handles(
        route(
            "DELETE",
            "/api/accounts/{id}/sessions/{session_id}",
            id="endSession",
            tag="accounts",
            summary="End one session of an account",
            permission=Permission("sessions", Verb.DELETE),
            parameters=(_ID, in_path("session_id", str, "The session's id.")),
            answer=NO_BODY,
            errors=(404,),
        )
    )
    async def end_one(self, request: web.Request, admin: Principal) -> web.Response:
        account_id, session_id = request.match_info["id"], request.match_info["session_id"]
        done = await self._client.send(EndSession(session_id, account_id, reason=BY_ADMIN), origin_of(admin))
        return web.Response(status=204, headers={**PRIVATE, **self._client.position_headers(done.position)})

    async def _command(self, account_id: str, body: Change) -> Command:
        given = [name for name in body.__struct_fields__ if getattr(body, name) is not UNSET]
        if len(given) != 1:
            raise invalid("Give exactly one of role, disabled and password")
        if body.role is not UNSET:
            return ChangeRole(account_id, body.role)
        if body.disabled is not UNSET:
            return DisableAccount(account_id) if body.disabled else EnableAccount(account_id)
        assert body.password is not UNSET
        return ChangePassword(account_id, await self._passwords.sealed(body.password, account_id))

    async def _shown(self, account_id: str) -> dict[str, Any]:
        return await self._issuing.person(await self._client.existing(account_id))


def _shown(row: Any, open_: OpenAddress) -> dict[str, Any]:
    account_id = str(row["id"])
    return {
        "id": account_id,
        "email": open_(row["email_sealed"], account_id),
        **{name: row[name] for name in ("role", "disabled", "created_at", "updated_at", "last_sign_in_at")},
    }


async def new_account(
    addresses: Addresses, passwords: Passwords, account_id: str, email: str, password: str, role: AccountRole
) -> CreateAccount:
    """Make the command that creates an account, with all personal data hashed or sealed (encrypted)."""
    address = addresses.checked(email)
    email_hash, *also = addresses.hashes(address)
    return CreateAccount(
        account_id,
        email_hash,
        await addresses.sealed(address, account_id),
        role,
        await passwords.sealed(password, account_id),
        tuple(also),
    )
