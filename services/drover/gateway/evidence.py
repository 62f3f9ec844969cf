"""`POST /agent/v1/assignments/{id}/evidence`: takes the picture of a failure. Its answer has the reference that the
report of the failure then carries. Needs neither the writer nor PostgreSQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from math import ceil
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID

import msgspec
import prometheus_client
import structlog
from aiohttp import web

from drover.domain.errors import Code
from drover.evidence.collection import Evidence, EvidenceFull, EvidenceUnreachable, TooManyPictures
from drover.evidence.pictures import MEDIA, PICTURE_BYTES_MAX, recognise
from drover.evidence.reference import Reference
from drover.gateway.limits import DeviceLimits
from drover.gateway.roster import Roster
from drover.web.answers import json_answer
from drover.web.auth import Principal
from drover.web.bodies import read_bytes
from drover.web.errors import ApiError, invalid, not_found, unavailable
from drover.web.limits import Limits
from drover.web.permissions import EVIDENCE, Permissions, Verb, check_own
from drover.web.route import BY_HANDLER, Answer, Parameter, Route, Schema, handles, in_path

UPLOADS_MAX: Final = 8
"""How many pictures a process receives at a time; further uploads get 503. Each is held in memory as a whole."""
UPLOADS_PER_DEVICE_MAX: Final = 2
"""How many of these may be of one device, so that one that sends slowly does not take the places of all."""
RUN_MAX: Final = 2**31 - 1
RETRY_FULL_AFTER_S: Final = 300
"""Retry-After of a full disk: it needs a person."""
RETRY_LATER: Final = "Report the failure without a picture."

_uploads = prometheus_client.Counter(
    "drover_evidence_uploads_total",
    "Pictures that phones uploaded, by outcome: kept or the code of the error",
    ["outcome"],
)

log = structlog.get_logger("drover.gateway")


class Telemetry(Protocol):
    """The methods of `drover.bus.telemetry.TelemetryOut` that are called here."""

    def beat(self, device_id: str, seen_at: datetime, reported: dict[str, Any] | None) -> None: ...


class KeptPicture(msgspec.Struct, kw_only=True):
    """A picture that was uploaded."""

    screenshot_ref: str
    """Send it as `screenshot_ref` in the report of the failure. It is also the path at which people see the picture."""
    content_type: str
    size_bytes: int
    expires_at: datetime
    """When the picture is deleted."""


class _Work(NamedTuple):
    """The assignment that a picture belongs to."""

    device_id: str
    run: int


_PICTURE: Final = Schema(
    "Picture",
    {"type": "string", "format": "binary", "maxLength": PICTURE_BYTES_MAX, "description": "The bytes of the picture."},
)


class Uploads:
    def __init__(
        self,
        permissions: Permissions,
        roster: Roster,
        telemetry: Telemetry,
        limits: DeviceLimits,
        requests: Limits,
        evidence: Evidence | None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`evidence`: where pictures are kept; None if this process has no such place. `limits`: of devices.
        `requests`: of callers whose device is not known."""
        self._permissions = permissions
        self._roster = roster
        self._telemetry = telemetry
        self._limits = limits
        self._requests = requests
        self._evidence = evidence
        self._clock = clock
        self._receiving: Counter[str] = Counter()
        """How many pictures of each device are being received."""

    @handles(
        Route(
            method="POST",
            path="/agent/v1/assignments/{assignment_id}/evidence",
            id="uploadEvidence",
            tag="agent",
            summary="Upload the picture of a failure",
            description=(
                "A PNG, JPEG or WebP of at most 2 MiB, recognised by its content. The same picture of a run is kept"
                " once, so an upload can be repeated. 404: the assignment is not known. 415 NOT_A_PICTURE. 429"
                " TOO_MANY_PICTURES: the device has uploaded DROVER_EVIDENCE_PER_DAY today. 501"
                " EVIDENCE_NOT_CONFIGURED: DROVER_EVIDENCE is not set. 503 EVIDENCE_UNREACHABLE: its folder or bucket"
                " cannot be used. 507 EVIDENCE_FULL: its disk is full. After any of these, report the failure without a"
                " picture."
            ),
            permission=BY_HANDLER,
            limit=BY_HANDLER,
            parameters=(
                in_path("assignment_id", UUID, "The assignment that failed."),
                Parameter("run", int, "The run that failed. Default: the latest one."),
            ),
            body=_PICTURE,
            body_media="image/*",
            answers={201: Answer(KeptPicture, "Kept")},
            errors=(400, 404, 413, 415, 501, 503, 507),
        )
    )
    async def post(self, request: web.Request, principal: Principal) -> web.Response:
        try:
            kept = await self._take(request, principal)
        except ApiError as error:
            _uploads.labels(error.code).inc()
            raise
        _uploads.labels("kept").inc()
        return json_answer(kept, status=201)

    async def _take(self, request: web.Request, principal: Principal) -> KeptPicture:
        assignment_id, work = self._admit(request, principal)
        run = _run(request, work)
        if (evidence := self._evidence) is None:
            hint = f"Set DROVER_EVIDENCE for gateway and api. {RETRY_LATER}"
            raise ApiError(501, "EVIDENCE_NOT_CONFIGURED", "This farm keeps no pictures", hint=hint)
        device_id = work.device_id
        if self._receiving.total() >= UPLOADS_MAX or self._receiving[device_id] >= UPLOADS_PER_DEVICE_MAX:
            raise ApiError(503, Code.OVERLOADED, "Too many pictures are being uploaded", hint="Try again shortly.")
        self._receiving[device_id] += 1
        try:
            data = await read_bytes(request, PICTURE_BYTES_MAX)
            kind = recognise(data)
            if kind is None:
                raise ApiError(
                    415,
                    "NOT_A_PICTURE",
                    "The body is not a whole PNG, JPEG or WebP picture",
                    details={"accepted": [*MEDIA.values()]},
                    hint="Send the bytes of the picture themselves as the body, not as a form or in base64.",
                )
            picture = Reference.of(
                data, kind, day=evidence.today(), device_id=work.device_id, assignment_id=assignment_id, run=run
            )
            await self._keep(evidence, picture, data)
        finally:
            self._receiving[device_id] -= 1
            if not self._receiving[device_id]:
                del self._receiving[device_id]
        return KeptPicture(
            screenshot_ref=picture.path,
            content_type=kind.media,
            size_bytes=len(data),
            expires_at=picture.expires_at(evidence.keep_days),
        )

    def _admit(self, request: web.Request, principal: Principal) -> tuple[str, _Work]:
        """Return the assignment that the caller may send a picture of. Raises 403, 404 or 429."""
        try:
            grant = self._permissions.demand(principal, EVIDENCE, Verb.CREATE)
            assignment_id = _uuid(request.match_info["assignment_id"])
            work = self._find(assignment_id)
            check_own(grant, principal, work.device_id)
        except ApiError:  # there is no device whose limit could count it
            self._requests.count(principal, request)
            raise
        self._telemetry.beat(work.device_id, self._clock(), None)
        self._limits.check(work.device_id)
        return assignment_id, work

    def _find(self, assignment_id: str) -> _Work:
        fleet = self._roster.fleet
        found = fleet.assignments.get(assignment_id) or fleet.ended.get(assignment_id)
        if found is not None:
            return _Work(found.device_id, found.run)
        if not self._roster.complete:
            raise unavailable("The gateway has just started and is still loading the fleet")
        raise not_found("Assignment")

    async def _keep(self, evidence: Evidence, picture: Reference, data: bytes) -> None:
        try:
            await evidence.add(picture, data)
        except TooManyPictures as error:
            wait_s = ceil((error.again_at - self._clock()).total_seconds())
            raise ApiError(
                429,
                "TOO_MANY_PICTURES",
                f"The device has uploaded {error.per_day} pictures today",
                details={"per_day": error.per_day, "again_at": error.again_at},
                hint=RETRY_LATER,
                headers={"Retry-After": str(max(wait_s, 1))},
            ) from error
        except EvidenceFull as error:
            log.error("evidence_full", place=error.place, alert=True)
            raise ApiError(
                507,
                "EVIDENCE_FULL",
                "There is no room for another picture",
                hint=f"Free some space, or lower DROVER_EVIDENCE_KEEP_DAYS. {RETRY_LATER}",
                headers={"Retry-After": str(RETRY_FULL_AFTER_S)},
            ) from error
        except EvidenceUnreachable as error:
            log.error("evidence_unreachable", place=error.place, reason=error.reason)
            raise ApiError(
                503, "EVIDENCE_UNREACHABLE", "The pictures cannot be kept at the moment", hint=RETRY_LATER
            ) from error


def _uuid(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise invalid("The id of an assignment is a UUID", field="assignment_id", value=text[:64]) from None


def _run(request: web.Request, work: _Work) -> int:
    text = request.query.get("run")
    if text is None:
        return work.run
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and int(text) <= work.run):
        raise invalid(f"run is a number up to {work.run}, the latest run", field="run", value=text[:64])
    return int(text)
