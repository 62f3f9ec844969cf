"""Erases people and renders: records the erasure, has the key of their data destroyed, then deletes what has become
useless."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, Protocol, Self, TypeVar

import msgspec
import structlog

from drover.bus.messages import Accepted, Bus
from drover.bus.subject_keys import Ask, destroy_key
from drover.domain.decider import Command
from drover.domain.erasure import PREFIX
from drover.domain.errors import Code
from drover.domain.identity import IDENTITY
from drover.domain.identity.commands import ErasePerson
from drover.domain.identity.subjects import person
from drover.domain.identity.validation import validate as validate_identity
from drover.domain.partitions import partition_of
from drover.domain.reminder import REMINDER
from drover.domain.reminder.commands import DeletePages, EraseUser
from drover.domain.reminder.policy import PAGES_PER_DELETION_MAX
from drover.domain.reminder.validation import validate as validate_reminder
from drover.domain.render import RENDER
from drover.domain.render.commands import EraseRender
from drover.domain.render.validation import validate as validate_render
from drover.postgres.errors import POSTGRES_AWAY
from drover.readmodel.form import placed, schema_of
from drover.service.subject_sealing import KeysUnreachable
from drover.web.commands import CommandClient, Origin, position_headers
from drover.web.errors import ApiError, not_found, unavailable

A = TypeVar("A", "ErasedUser", "ErasedRender")

PAGES_READ_MAX: Final = 1_000
DELETING_S: Final = 30.0
"""How many seconds one erasure spends on finding and deleting the user's alarms."""
LOOK_AGAIN_S: Final = 0.25
READ_S: Final = 5.0
RENDER_ID_MAX: Final = 2**31 - 1
"""The largest id that the column of render ids can hold."""

_REACHED: Final = "SELECT seq FROM drover.checkpoints WHERE schema = $1 AND partition = $2"
_PAGES: Final = "SELECT page_id FROM rm_reminder.alarm_rows WHERE user_id = $1 LIMIT $2"
_GFX: Final = "SELECT gfx_id, gfx_data FROM rm_render.render_gfx WHERE id = $1"

log = structlog.get_logger("drover.erasure")


class Postgres(Protocol):
    """The part of an asyncpg pool or connection that is needed here."""

    async def fetch(self, query: str, *args: Any, timeout: float | None = None) -> list[Any]: ...  # noqa: ASYNC109


class ErasedUser(msgspec.Struct, kw_only=True):
    user_id: str
    contexts: list[str]
    """The contexts in which the user's key is destroyed."""
    had_account: bool
    """Whether the user had an account here. If so, it has been removed, and its sessions have ended."""
    alarms: int
    """How many alarms of the user were deleted."""
    is_complete: bool
    """Whether no alarm of the user is left. If not, nobody can read the texts of those that are left. Erase the user
    again to delete them."""


class ErasedRender(msgspec.Struct):
    render_id: int


class Erasure(NamedTuple, Generic[A]):
    answer: A
    positions: Mapping[str, str]
    """Headers with the positions at which the erasure was recorded."""


class _Positions:
    """Collects the positions of one erasure's writes. If a later step fails, the error's headers have these positions,
    because what was recorded before stays erased."""

    def __init__(self) -> None:
        self._written: dict[str, int] = {}

    async def send(self, client: CommandClient, command: Command, origin: Origin) -> Accepted:
        done = await client.send(command, origin)
        self._written[client.place] = done.position
        return done

    @property
    def headers(self) -> dict[str, str]:
        return position_headers(self._written)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ApiError):
            error.headers.update(self.headers)


class Eraser:
    def __init__(
        self, bus: Bus, postgres: Postgres, ask: Callable[[str], Ask], partitions: Mapping[str, Sequence[str]]
    ) -> None:
        """`ask`: makes the function that asks the leaders of a context for keys. `partitions`: the names of each
        context's partitions."""
        self._postgres = postgres
        self._ask = ask
        self._partitions = partitions
        self._identity = CommandClient(bus, IDENTITY.context, validate=validate_identity)
        self._render = CommandClient(bus, RENDER.context, validate=validate_render)
        self._reminder = {
            name: CommandClient(bus, REMINDER.context, partition=name, validate=validate_reminder)
            for name in partitions[REMINDER.context]
        }

    async def erase_user(self, user_id: str, origin: Origin) -> Erasure[ErasedUser]:
        """Erase a user. After this returns, no process can read their data; processes that have the key drop it within
        seconds. Raises ApiError. If it was interrupted, erase again: each step can be repeated."""
        with _Positions() as positions:
            # The account first: if it is the last admin's, this is refused, and then nothing must be erased.
            account = await positions.send(self._identity, ErasePerson(user_id), origin)
            await self._destroy(IDENTITY.context, person(user_id))
            erased = ErasedUser(
                user_id=user_id,
                contexts=[IDENTITY.context],
                had_account=account.result["had_account"],
                alarms=0,
                is_complete=True,
            )
            # An id that reminders do not accept comes from another issuer, and has no alarms.
            if validate_reminder(EraseUser(user_id)) is None:
                recorded = await positions.send(self._reminder_of(user_id), EraseUser(user_id), origin)
                await self._destroy(REMINDER.context, user_id)
                erased.contexts.append(REMINDER.context)
                erased.alarms, erased.is_complete = await self._delete_alarms(user_id, recorded.position, origin)
            return Erasure(erased, positions.headers)

    async def erase_render(self, render_id: int, origin: Origin) -> Erasure[ErasedRender]:
        """Erase the gfx_data of a render that has ended. Raises ApiError."""
        gfx = await self._gfx(render_id)
        if not gfx["gfx_data"].startswith(PREFIX):
            raise ApiError(
                409,
                Code.CONFLICT,
                f"The gfx_data of render {render_id} was sealed by an earlier version, with its key in the log, so it "
                "cannot be erased",
            )
        with _Positions() as positions:
            await positions.send(self._render, EraseRender(render_id, gfx["gfx_id"]), origin)
            await self._destroy(RENDER.context, gfx["gfx_id"])
            return Erasure(ErasedRender(render_id), positions.headers)

    def _reminder_of(self, user_id: str) -> CommandClient:
        return self._reminder[partition_of(user_id, self._partitions[REMINDER.context])]

    async def _destroy(self, context: str, subject: str) -> None:
        try:
            await destroy_key(self._ask(context), context, self._partitions[context], subject)
        except KeysUnreachable as error:
            message = f"The erasure is recorded, and the key will be destroyed as soon as possible ({error.reason})"
            raise unavailable(message) from error

    async def _gfx(self, render_id: int) -> Any:
        if not 0 < render_id <= RENDER_ID_MAX:
            raise not_found("Render")
        try:
            rows = await self._postgres.fetch(placed(_GFX), render_id, timeout=READ_S)
        except POSTGRES_AWAY as error:
            raise unavailable("The database does not answer") from error
        if not rows:
            raise not_found("Render")
        return rows[0]

    async def _delete_alarms(self, user_id: str, after: int, origin: Origin) -> tuple[int, bool]:
        """Delete the user's alarms; return how many, and whether none is left. `after`: the position of the erasure,
        which the read model must have reached."""
        loop = asyncio.get_running_loop()
        deleted, give_up_at = 0, loop.time() + DELETING_S
        while loop.time() < give_up_at:
            try:
                pages = await self._pages(user_id, after)
            except POSTGRES_AWAY as error:
                log.warning("alarms_of_erased_user_not_read", user_id=user_id, error=repr(error))
                pages = None
            if pages == []:
                return deleted, True
            for start in range(0, len(pages or ()), PAGES_PER_DELETION_MAX):
                part = tuple((pages or [])[start : start + PAGES_PER_DELETION_MAX])
                # Each deletion is a separate command, so it must not get the request's Idempotency-Key.
                done = await self._reminder_of(user_id).send(DeletePages(part, user_id), Origin(by=origin.by))
                deleted += len(done.result["deleted"])
                after = max(after, done.position)
            if not pages:
                await asyncio.sleep(LOOK_AGAIN_S)
        return deleted, False

    async def _pages(self, user_id: str, after: int) -> list[str] | None:
        """List some of the user's pages that have an alarm. None if the read model has not reached the position
        `after`."""
        partition = partition_of(user_id, self._partitions[REMINDER.context])
        reached = await self._postgres.fetch(_REACHED, schema_of(REMINDER.context), partition, timeout=READ_S)
        if not reached or reached[0]["seq"] < after:
            return None
        rows = await self._postgres.fetch(placed(_PAGES), user_id, PAGES_READ_MAX, timeout=READ_S)
        return [row["page_id"] for row in rows]
