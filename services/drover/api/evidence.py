"""`/api/evidence`: shows the pictures that phones sent along with a failure. `/api/erasures/evidence`: erases them."""

from __future__ import annotations

from datetime import date
from typing import Final
from uuid import UUID

import msgspec
import structlog
from aiohttp import web

from drover.domain.identity.audit import AccessKind
from drover.evidence.collection import Evidence, EvidenceFull, EvidenceUnreachable
from drover.evidence.reference import PATH, Reference
from drover.web.answers import NO_STORE, json_answer
from drover.web.auth import Principal
from drover.web.errors import ApiError, invalid
from drover.web.permissions import EVIDENCE, Verb
from drover.web.route import Answer, Parameter, Permission, Route, handles, in_path

HEADERS: Final = {
    **NO_STORE,
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
"""A phone sent these bytes. If a browser opens them as a page, they can neither run code nor reach anything."""

log = structlog.get_logger("drover.api")


class ErasedEvidence(msgspec.Struct):
    device_id: str
    pictures: int
    """How many pictures were deleted."""


class EvidencePages:
    def __init__(self, evidence: Evidence | None) -> None:
        """`evidence`: where pictures are kept; None if this process has no such place."""
        self._evidence = evidence

    @handles(
        Route(
            method="GET",
            path=PATH,
            id="getEvidence",
            tag="fleet",
            summary="A picture that a phone sent along with a failure",
            description=(
                "The path is the `screenshot_ref` of the failure. 404 PICTURE_GONE: it was deleted after"
                " DROVER_EVIDENCE_KEEP_DAYS, was erased, or never existed."
            ),
            permission=Permission(EVIDENCE, Verb.READ),
            audited=AccessKind.EVIDENCE,
            parameters=(
                in_path("day", date, "The day of the upload."),
                in_path("device_id", UUID, "The phone."),
                in_path("file", str, "The name of the file."),
            ),
            answers={200: Answer(bytes, "The picture: image/png, image/jpeg or image/webp", media="image/*")},
            errors=(404, 501, 503),
        )
    )
    async def picture(self, request: web.Request, principal: Principal) -> web.Response:
        parts = request.match_info
        picture = Reference.parse(parts["day"], parts["device_id"], parts["file"])
        data = None if picture is None else await self._read(picture)
        if picture is None or data is None:
            raise ApiError(404, "PICTURE_GONE", "There is no such picture, or not any more")
        headers = {**HEADERS, "Content-Disposition": f'inline; filename="{picture.file}"'}
        return web.Response(body=data, content_type=picture.type.media, headers=headers)

    async def _read(self, picture: Reference) -> bytes | None:
        try:
            return await self._configured().read(picture)
        except EvidenceUnreachable as error:
            raise _unreachable(error) from error

    @handles(
        Route(
            method="POST",
            path="/api/erasures/evidence/{id}",
            id="eraseEvidence",
            tag="system",
            summary="Erase the pictures of a phone for ever",
            description="With `assignment_id`, only those of this assignment. Backups of the place keep them.",
            permission=Permission("erasures", Verb.CREATE),
            parameters=(
                in_path("id", UUID, "The phone."),
                Parameter("assignment_id", UUID, "Only the pictures of this assignment."),
            ),
            answers={200: Answer(ErasedEvidence, "Erased")},
            errors=(400, 404, 501, 503),
        )
    )
    async def erase(self, request: web.Request, principal: Principal) -> web.Response:
        device_id = _uuid("id", request.match_info["id"])
        named = request.query.get("assignment_id")
        assignment_id = None if named is None else _uuid("assignment_id", named)
        try:
            pictures = await self._configured().erase(device_id, assignment_id)
        except (EvidenceUnreachable, EvidenceFull) as error:
            raise _unreachable(error) from error
        if not pictures:  # a mistyped id must not look like success
            raise ApiError(404, "PICTURE_GONE", "There are no pictures of this phone or assignment")
        log.info("evidence_erased", device_id=device_id, assignment_id=assignment_id, pictures=pictures)
        return json_answer(ErasedEvidence(device_id, pictures))

    def _configured(self) -> Evidence:
        if self._evidence is None:
            hint = "Set DROVER_EVIDENCE for the process of the api service, too."
            raise ApiError(501, "EVIDENCE_NOT_CONFIGURED", "This process has no pictures", hint=hint)
        return self._evidence


def _unreachable(error: EvidenceUnreachable | EvidenceFull) -> ApiError:
    log.error("evidence_unreachable", place=error.place, error=str(error))
    return ApiError(
        503, "EVIDENCE_UNREACHABLE", "The pictures cannot be reached at the moment", hint="Try again later."
    )


def _uuid(field: str, text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise invalid(f"{field} is a UUID", field=field, value=text[:64]) from None
