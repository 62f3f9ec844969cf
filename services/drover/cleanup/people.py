"""`POST /api/saju/cleanup-runs`: runs a cleanup now, for operators. Cron jobs use the route in `cleaning`."""

from __future__ import annotations

from typing import Final
from uuid import UUID

import msgspec
from aiohttp import web

from drover.cleanup.manual import ManualCleanup
from drover.web.answers import json_answer
from drover.web.auth import Principal
from drover.web.permissions import Verb
from drover.web.route import Answer, Permission, Route, handles

PATH: Final = "/api/saju/cleanup-runs"


class CleanupDone(msgspec.Struct):
    """The result of a cleanup. If one was already running when the request came, this is its result."""

    run_id: UUID
    cleaned_count: int
    skipped_count: int
    users_count: int


class CleanupByPeople:
    def __init__(self, cleanup: ManualCleanup) -> None:
        self._cleanup = cleanup

    @handles(
        Route(
            method="POST",
            path=PATH,
            id="runCleanup",
            tag="saju",
            summary="Clean up stalled tests now, as a person",
            description="Waits for its end. Repeating it is safe: a test is cleaned up once.",
            permission=Permission("cleanup_runs", Verb.CREATE),
            answers={201: Answer(CleanupDone, "Cleaned up")},
            errors=(500,),
        )
    )
    async def clean(self, request: web.Request, principal: Principal) -> web.Response:
        """Run a cleanup. Repeating the request is harmless, so it needs no idempotency key. The body is ignored."""
        done = await self._cleanup.answer(by=principal.name)
        body = CleanupDone(UUID(done.run_id), done.cleaned, done.skipped, len(done.users))
        return json_answer(body, status=201)
