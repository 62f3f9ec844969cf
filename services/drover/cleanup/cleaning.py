"""`POST /api/system/cleanup-tests`: runs a cleanup now, for callers with the cron secret.

The answer is specified in document 001 (saju tests and sign-in), §1.4.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import msgspec
from aiohttp import web

from drover.cleanup import log_lines, metrics
from drover.cleanup.manual import ManualCleanup
from drover.cleanup.secret import CronSecrets
from drover.web.answers import json_answer
from drover.web.callers import Callers
from drover.web.errors import ApiError
from drover.web.route import Answer, Route, handles

PATH: Final = "/api/system/cleanup-tests"
BY: Final = "cron_secret"
"""The actor recorded for every caller with the cron secret."""
TOLD_EVERY_S: Final = 1.0
"""Minimum seconds between two log lines about wrong secrets. Those in between are only counted, so that guessing does
not fill the disk."""


class Cleaned(msgspec.Struct):
    message: str
    cleaned_count: int
    users_affected: list[str]


class Cleaning:
    def __init__(
        self,
        secrets: CronSecrets,
        cleanup: ManualCleanup,
        callers: Callers,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._secrets = secrets
        self._cleanup = cleanup
        self._callers = callers
        self._clock = clock
        self._told_at = float("-inf")
        self._unmentioned = 0

    @handles(
        Route(
            method="POST",
            path=PATH,
            id="cleanUpTests",
            tag="system",
            summary="Clean up stalled tests now",
            description="Send the cron secret in X-Cron-Secret, or as the bearer token.",
            caller="cron secret",
            answers={200: Answer(Cleaned, "Cleaned up")},
            errors=(500,),
        )
    )
    async def clean(self, request: web.Request) -> web.Response:
        """Run a cleanup if a header has the cron secret. Ignores the body, and the query, where a secret would end up
        in logs."""
        if not self._secrets.match(request.headers):
            self._log_wrong_secret(self._callers.key_of(request))
            headers = {"WWW-Authenticate": 'Bearer realm="drover"'}
            raise ApiError(401, "UNAUTHORIZED", "Invalid cron secret", headers=headers)
        done = await self._cleanup.answer(by=BY)
        return json_answer(Cleaned("Cleanup completed", done.cleaned, done.users))

    def _log_wrong_secret(self, caller: str) -> None:
        metrics.REFUSED.inc()
        now = self._clock()
        if now - self._told_at < TOLD_EVERY_S:
            self._unmentioned += 1
            return
        log_lines.wrong_secret(caller, self._unmentioned)
        self._told_at, self._unmentioned = now, 0
