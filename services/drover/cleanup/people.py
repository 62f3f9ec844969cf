"""`POST /api/saju/cleanup-runs`: a cleanup now, for people who run the farm. For cron jobs there is `cleaning`."""

from __future__ import annotations

from typing import Final
from uuid import UUID

import msgspec
from aiohttp import web

from drover.cleanup import metrics, words
from drover.cleanup.manual import CleanupFailed, ManualCleanup
from drover.web.application import add_route
from drover.web.auth import Authenticator
from drover.web.errors import ApiError, encode_json
from drover.web.permissions import Permissions, Verb

PATH: Final = "/api/saju/cleanup-runs"
RELATION: Final = "cleanup_runs"


class CleanupDone(msgspec.Struct):
    """A cleanup that has ended. Asked for while one was at work, it is that one."""

    run_id: UUID
    cleaned_count: int
    skipped_count: int
    users_count: int


class CleanupByPeople:
    def __init__(self, auth: Authenticator, permissions: Permissions, cleanup: ManualCleanup) -> None:
        self._auth = auth
        self._permissions = permissions
        self._cleanup = cleanup

    def add_routes(self, app: web.Application) -> None:
        add_route(app, "POST", PATH, self.clean)

    async def clean(self, request: web.Request) -> web.Response:
        """Done twice it finds nothing the second time: it needs no key, and nothing of the body counts."""
        principal = self._auth.authenticate(request.headers)
        self._permissions.demand(principal, RELATION, Verb.CREATE)
        try:
            done = await self._cleanup.run(by=principal.name)
        except CleanupFailed as error:
            words.failed(error.reason)
            metrics.RUNS.labels("failed").inc()
            await self._cleanup.report(error.reason, by=principal.name)
            raise ApiError(500, "CLEANUP_FAILED", "Failed to cleanup tests", details=error.reason) from error
        body = CleanupDone(UUID(done.run_id), done.cleaned, done.skipped, len(done.users))
        return web.Response(body=encode_json(body), status=201, content_type="application/json")
