"""`/api/enrolments`: admins make, list and withdraw enrolment codes. `/api/enrol`: the agent of a PC uses a code, and
gets a key for each of its phones."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Final
from uuid import uuid4

import msgspec
from aiohttp import web
from msgspec import Meta
from uuid_utils import uuid7

from drover.api.identity.answers import NO_BODY, route
from drover.api.identity.bodies import PRIVATE, read, respond
from drover.api.identity.client import IdentityClient
from drover.api.identity.enrolment_codes import (
    CODE_CHARS_MAX,
    HOURS_DEFAULT,
    LISTED,
    PHONES_MAX,
    EnrolmentRecord,
    digest_of,
    digest_of_nonce,
    is_pc_known,
    new_code,
    unknown_pc,
)
from drover.api.identity.issued_keys import sign
from drover.api.identity.keys import DAY_S, DAYS_MAX, HOUR_S, Days
from drover.api.identity.listing import PAGE_PARAMETERS, read_page
from drover.bus.messages import Accepted, Bus, Outcome
from drover.domain.errors import Code
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import RegisterDevice
from drover.domain.fleet.policy import PC_ID_PATTERN
from drover.domain.fleet.validation import validate as validate_fleet
from drover.domain.identity.audit import AccessKind
from drover.domain.identity.commands import CreateEnrolment, EndEnrolment, EnrolDevices, ReadEnrolment
from drover.domain.identity.events import EnrolledKey
from drover.domain.identity.policy import ENROLMENT_S_MAX, KeyRole
from drover.postgres.errors import POSTGRES_AWAY
from drover.postgres.pool import Pool
from drover.service.identity_keys import IdentityKeys
from drover.web.auth import Principal
from drover.web.commands import CommandClient, Origin, origin_of
from drover.web.errors import ApiError, invalid, unavailable
from drover.web.freshness import Freshness
from drover.web.permissions import Verb
from drover.web.route import BEHIND, POSITION, Answer, Limit, Permission, handles, in_path

BODY_BYTES_MAX: Final = 256 * 1024
"""Maximum size of the body of `/api/enrol`: enough for 200 phones with their capabilities."""
NONCE_CHARS_MIN: Final = 16
USES: Final = 10.0
"""An enrolment counts as this many requests against the limit of its network address, because it can register 200
phones. With the default limits, an address may send 50 enrolments at once and 5 per second in the long run: enough for
the PCs of a farm that share an address."""
SHOWN_MAX: Final = 10
"""Maximum of serial numbers that an error message names."""


class NewEnrolment(msgspec.Struct, forbid_unknown_fields=True):
    pc_id: Annotated[str, Meta(pattern=PC_ID_PATTERN)]
    devices_max: Annotated[int, Meta(ge=1, le=PHONES_MAX)] = PHONES_MAX
    """The maximum of phones that may enrol with the code."""
    hours: Annotated[int, Meta(ge=1, le=ENROLMENT_S_MAX // HOUR_S)] = HOURS_DEFAULT
    """For how many hours the code can be used."""
    days: Days = DAYS_MAX
    """For how many days the keys of the phones are valid."""
    new_pc: bool = False
    """Whether the code may be for a PC that is not registered yet."""


class MadeEnrolment(msgspec.Struct):
    id: str
    code: str
    """The code itself. It is stored nowhere: this is the only time that it is shown."""
    pc_id: str
    expires_at: str


class Enrolments(msgspec.Struct):
    enrolments: list[EnrolmentRecord]


class Phone(msgspec.Struct, forbid_unknown_fields=True):
    serial_number: str
    group_id: str
    """The group of the phone. It has no effect if the phone is already registered."""
    capabilities: list[str] = []


class Enrolling(msgspec.Struct, forbid_unknown_fields=True):
    code: Annotated[str, Meta(min_length=1, max_length=CODE_CHARS_MAX)]
    nonce: Annotated[str, Meta(min_length=NONCE_CHARS_MIN, max_length=CODE_CHARS_MAX)]
    """A random text that the agent makes up and keeps. If the answer is lost, the agent sends the same code and nonce
    again, and gets new keys. With another nonce, a code that was used is refused."""
    devices: Annotated[list[Phone], Meta(min_length=1, max_length=PHONES_MAX)]


class EnrolledPhone(msgspec.Struct):
    serial_number: str
    device_id: str
    key: str
    """The phone's own key. It is stored nowhere."""


class Enrolled(msgspec.Struct):
    pc_id: str
    expires_at: str
    """When the keys expire."""
    devices: list[EnrolledPhone]


_ID: Final = in_path("id", str, "The enrolment's id.")


class EnrolmentCodes:
    """The requests with which admins make, list and withdraw enrolment codes."""

    def __init__(self, client: IdentityClient, pool: Pool, freshness: Freshness) -> None:
        self._client = client
        self._pool = pool
        self._freshness = freshness

    @handles(
        route(
            "GET",
            "/api/enrolments",
            id="listEnrolments",
            tag="accounts",
            summary="All enrolment codes, without the codes themselves; for admins",
            permission=Permission("keys", Verb.READ),
            audited=AccessKind.KEYS,
            parameters=PAGE_PARAMETERS,
            answer=Answer(Enrolments, "Newest first, with those that ended", headers=BEHIND),
        )
    )
    async def list(self, request: web.Request, admin: Principal) -> web.Response:
        rows, behind = await read_page(request, self._client, self._pool, LISTED)
        return respond(Enrolments([EnrolmentRecord.of(row) for row in rows]), headers=behind)

    @handles(
        route(
            "POST",
            "/api/enrolments",
            id="createEnrolment",
            tag="accounts",
            summary="Make a one-time code, by which the agent of a PC gets keys for its phones",
            permission=Permission("keys", Verb.CREATE),
            body=NewEnrolment,
            answer=Answer(MadeEnrolment, "Made; the code is shown this once", headers=POSITION),
            status=201,
            errors=(404, 409, 413, 415),
        )
    )
    async def create(self, request: web.Request, admin: Principal) -> web.Response:
        body = await read(request, NewEnrolment)
        if not body.new_pc:
            await self._demand_known(request, body.pc_id)
        code = new_code()
        command = CreateEnrolment(
            str(uuid4()), body.pc_id, digest_of(code), body.devices_max, body.days * DAY_S, body.hours * HOUR_S
        )
        done = await self._client.send(command, origin_of(admin))
        made = MadeEnrolment(done.result["enrolment_id"], code, body.pc_id, done.result["expires_at"])
        return respond(made, status=201, headers=self._client.position_headers(done.position))

    @handles(
        route(
            "DELETE",
            "/api/enrolments/{id}",
            id="endEnrolment",
            tag="accounts",
            summary="Withdraw an enrolment code. Keys that it has given out stay valid",
            permission=Permission("keys", Verb.DELETE),
            parameters=(_ID,),
            answer=NO_BODY,
            errors=(404,),
        )
    )
    async def end(self, request: web.Request, admin: Principal) -> web.Response:
        done = await self._client.send(EndEnrolment(request.match_info["id"]), origin_of(admin))
        return web.Response(status=204, headers={**PRIVATE, **self._client.position_headers(done.position)})

    async def _demand_known(self, request: web.Request, pc_id: str) -> None:
        await self._freshness.wait(request.headers, FLEET.context)
        try:
            is_known = await is_pc_known(self._pool, pc_id)
        except POSTGRES_AWAY as error:
            raise unavailable("The read model is unavailable") from error
        if not is_known:
            raise ApiError(404, Code.NOT_FOUND, unknown_pc(pc_id, "new_pc: true"))


class Enrolment:
    """The request with which the agent of a PC enrols. The agent has no key yet: it authenticates with an enrolment
    code."""

    def __init__(self, client: IdentityClient, keys: IdentityKeys, bus: Bus, freshness: Freshness) -> None:
        self._client = client
        self._keys = keys
        self._fleet = CommandClient(bus, FLEET.context, freshness=freshness, validate=validate_fleet)

    @handles(
        route(
            "POST",
            "/api/enrol",
            id="enrol",
            tag="agents",
            summary="Use the code of a PC: register its phones that are missing, and get a key for each",
            caller="anybody",
            limit=Limit(USES),
            body=Enrolling,
            answer=Answer(Enrolled, "One key for each phone, in the order of the request"),
            errors=(404, 409, 413, 415, 429),
        )
    )
    async def enrol(self, request: web.Request) -> web.Response:
        body = await read(request, Enrolling, BODY_BYTES_MAX)
        self._check(body.devices)
        digest, nonce = digest_of(body.code), digest_of_nonce(body.nonce)
        known = (await self._client.send(ReadEnrolment(digest, nonce), Origin(by="enrolment"))).result
        if len(body.devices) > known["devices_max"]:
            raise _too_many(len(body.devices), known["devices_max"])
        origin = Origin(by=f"pc:{known['pc_id']}")
        device_ids = await self._registered(body.devices, known["pc_id"], origin)
        keys = [EnrolledKey(str(uuid4()), device_id) for device_id in device_ids]
        done = await self._client.send(EnrolDevices(digest, nonce, keys), origin)
        tokens = await asyncio.to_thread(self._tokens, keys, done.result)
        phones = [
            EnrolledPhone(phone.serial_number, key.device_id, token)
            for phone, key, token in zip(body.devices, keys, tokens, strict=True)
        ]
        return respond(Enrolled(known["pc_id"], done.result["expires_at"], phones))

    def _check(self, phones: Sequence[Phone]) -> None:
        """Refuse phones that cannot be registered, before anything is registered."""
        counted = Counter(phone.serial_number for phone in phones)
        if twice := [serial for serial, count in counted.items() if count > 1]:
            raise invalid(f"{_shown(twice)}: named twice", field="devices")
        self._fleet.check(*(_registration(phone, "PC") for phone in phones))

    async def _registered(self, phones: Sequence[Phone], pc_id: str, origin: Origin) -> list[str]:
        """Register the phones that are not registered yet, and return the ids of all. Refuses phones that are
        registered on another PC, because the code of one PC must not give keys for the phones of another."""
        commands = [_registration(phone, pc_id) for phone in phones]
        outcomes = await self._fleet.outcomes(commands, origin)
        found = [self._found(command, outcome) for command, outcome in zip(commands, outcomes, strict=True)]
        if elsewhere := [phone.serial_number for phone, (_, on) in zip(phones, found, strict=True) if on != pc_id]:
            raise _of_other_pcs(elsewhere, pc_id)
        return [device_id for device_id, _ in found]

    def _found(self, command: RegisterDevice, outcome: Outcome) -> tuple[str, str]:
        """Return the id of a phone and the id of its PC, whether the phone was registered just now or before."""
        if isinstance(outcome, Accepted):
            return command.device_id, command.pc_id
        details = outcome.details or {}
        if outcome.code == Code.UNIQUE_VIOLATION and details.get("field") == "serial_number":
            return details["id"], details["pc_id"]
        raise self._fleet.refusal(outcome)

    def _tokens(self, keys: Sequence[EnrolledKey], result: dict[str, Any]) -> list[str]:
        told = {name: result[name] for name in ("created_at", "expires_at")} | {"role": KeyRole.DEVICE}
        return [sign(self._keys, {**told, "key_id": key.key_id, "device_id": key.device_id}) for key in keys]


def _registration(phone: Phone, pc_id: str) -> RegisterDevice:
    return RegisterDevice(str(uuid7()), phone.serial_number, phone.group_id, pc_id, phone.capabilities)


def _too_many(count: int, devices_max: int) -> ApiError:
    return invalid(
        f"The code is for {devices_max} phones, and these are {count}; ask an admin for a code for more, or send fewer",
        field="devices",
    )


def _of_other_pcs(serials: Sequence[str], pc_id: str) -> ApiError:
    message = f"{_shown(serials)}: registered on another PC. Move them to {pc_id} first, or leave them out"
    return ApiError(409, Code.CONFLICT, message, details={"serial_numbers": list(serials)})


def _shown(serials: Sequence[str]) -> str:
    more = f" and {len(serials) - SHOWN_MAX} more" if len(serials) > SHOWN_MAX else ""
    return ", ".join(serials[:SHOWN_MAX]) + more
