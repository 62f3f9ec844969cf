"""Records for the audit, from HTTP requests: who reads sensitive data, who signs in, and who changes what.

Sensitive reads are recorded before they are answered, changes after (ADR 0047). What agents do is not recorded here.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, Protocol

import structlog
from aiohttp import web
from prometheus_client import Counter, Gauge
from uuid_utils import uuid7

from drover.bus.audit import Access, NotRecorded
from drover.domain.backoff import Backoff
from drover.domain.identity.audit import WHAT_CHARS_MAX, AccessKind
from drover.projection.positions import POSITION_HEADER
from drover.service.access_tokens import PEOPLE
from drover.service.api_keys import Role
from drover.service.tasks import end
from drover.service.tracing import current
from drover.web.auth import Principal, note_principal, principal_of
from drover.web.callers import Callers
from drover.web.errors import ApiError
from drover.web.user_agent import user_agent_of

HOUR_S: Final = 3600
REMEMBERED_MAX: Final = 20_000
"""How many recorded accesses of the current hour a process remembers, so that it records each only once. One that it
has forgotten is recorded again."""
WAITING_MAX: Final = 10_000
"""How many changes may wait to be recorded. While so many wait, further changes by people are refused."""
USER_AGENT_CHARS_MAX: Final = 512
LEAVE_S: Final = 5.0
"""How long a process that stops waits for accesses that are not recorded yet."""
_RETRY: Final = Backoff(first_s=0.5, max_s=10.0)
_AUDITED: Final = frozenset({*PEOPLE, Role.SERVICE_ROLE})
"""The roles whose changes are recorded: people who run the farm, and programs of the back office. The others are left
out: end users change only their own data, and agents only report."""

_waiting: Final = Gauge("drover_audit_waiting", "Accesses that wait to be recorded.")
_refused: Final = Counter("drover_audit_refused_total", "Requests that were refused because nobody could record them.")
_lost: Final = Counter("drover_audit_lost_total", "Changes that the audit lacks; the log has their lines.")

log = structlog.stdlib.get_logger("drover.audit")


_SIGNED_IN: Final = web.RequestKey("signed_in", bool)


def note_sign_in(request: web.Request, principal: Principal) -> None:
    """Note that the caller has signed in with this request. It is recorded when the request is answered."""
    note_principal(request, principal)
    request[_SIGNED_IN] = True


class Recorder(Protocol):
    """The method of `drover.bus.audit.NatsRecorder` that is called here."""

    async def record(self, access: Access) -> None: ...


class Audit:
    def __init__(self, recorder: Recorder, callers: Callers, clock: Callable[[], float] = time.time) -> None:
        self._recorder = recorder
        self._callers = callers
        self._clock = clock
        self._hour = 0
        self._recorded: OrderedDict[tuple[str, str, str, str | None], None] = OrderedDict()
        self._waiting: set[asyncio.Task[None]] = set()

    async def read(self, request: web.Request, principal: Principal, kind: AccessKind, what: str | None = None) -> None:
        """Record that the caller reads something sensitive, once an hour for each caller, kind, `what` and address.
        Raises 503 if it cannot be recorded. `what`: the thing that is read. None: the path of the request."""
        await self.read_by(request, principal.name, kind, what)

    async def read_by(self, request: web.Request, by: str, kind: AccessKind, what: str | None = None) -> None:
        access = self._access(request, by, kind, request.path if what is None else what)
        key = _key(access)
        if self._is_recorded(key):
            return
        try:
            await self._recorder.record(access)
        except NotRecorded as error:
            _refused.inc()
            log.error("access_refused", by=by, kind=kind, what=access.what, reason=error.reason)
            raise unrecorded() from error
        self._remember(key)

    def changed(
        self, request: web.Request, route: str, response: web.StreamResponse, *, declared: bool = False
    ) -> None:
        """Record that a request changed something, or signed somebody in. `declared`: whether its route says that it
        changes something. Without that, a POST may be a mere question.

        Every change by a person is recorded. Programs repeat the same change many times: of theirs, one an hour is
        recorded for each route and address.
        """
        principal = principal_of(request)
        if principal is not None and request.get(_SIGNED_IN) is not None:
            self._note(self._access(request, principal.name, AccessKind.SIGN_IN, f"session {principal.session_id}"))
            return
        if principal is None or principal.role not in _AUDITED:
            return
        # An error response has a position if a part was written nevertheless, such as the first of several rows.
        if POSITION_HEADER not in response.headers:
            is_question = request.method == "POST" and not declared and response.status != 204
            if is_question or response.status >= 400:
                return
        if principal.role in PEOPLE:
            self._note(self._access(request, principal.name, AccessKind.CHANGE, f"{request.method} {request.path}"))
            return
        access = self._access(request, principal.name, AccessKind.CHANGE, f"{request.method} {route}")
        if not self._is_recorded(key := _key(access)):
            self._remember(key)
            self._note(access)

    def check_room(self) -> None:
        """Raise 503 if so many accesses wait that no further change could be recorded."""
        if len(self._waiting) >= WAITING_MAX:
            _refused.inc()
            raise unrecorded()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """On exit, wait up to `LEAVE_S` seconds until everything is recorded."""
        try:
            yield
        finally:
            if self._waiting:
                await asyncio.wait(set(self._waiting), timeout=LEAVE_S)
            await end(*self._waiting)

    def _access(self, request: web.Request, by: str, kind: AccessKind, what: str) -> Access:
        trace = current()
        return Access(
            id=str(uuid7()),
            by=by,
            kind=kind,
            what=_printable(what),
            address=self._callers.address_of(request),
            user_agent=user_agent_of(request.headers, USER_AGENT_CHARS_MAX),
            trace=None if trace is None else str(trace),
        )

    def _note(self, access: Access) -> None:
        if len(self._waiting) >= WAITING_MAX:
            _lose(access, "too many accesses wait")
            return
        task = asyncio.create_task(self._record(access))
        self._waiting.add(task)
        _waiting.set(len(self._waiting))
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._waiting.discard(task)
        _waiting.set(len(self._waiting))

    async def _record(self, access: Access) -> None:
        """Try again and again to record an access, until that succeeds or the process stops."""
        tries = 0
        try:
            while True:
                tries += 1
                try:
                    await self._recorder.record(access)
                except NotRecorded as error:
                    log.warning("access_waits", kind=access.kind, tries=tries, reason=error.reason)
                else:
                    return
                await asyncio.sleep(_RETRY.pause_s(tries))
        except asyncio.CancelledError:
            _lose(access, "the process stopped")
            raise
        except Exception:
            log.exception("access_failed", kind=access.kind)
            _lose(access, "a fault")

    def _is_recorded(self, key: tuple[str, str, str, str | None]) -> bool:
        hour = int(self._clock() // HOUR_S)
        if hour != self._hour:
            self._hour = hour
            self._recorded.clear()
        return key in self._recorded

    def _remember(self, key: tuple[str, str, str, str | None]) -> None:
        self._recorded[key] = None
        if len(self._recorded) > REMEMBERED_MAX:
            self._recorded.popitem(last=False)


def _key(access: Access) -> tuple[str, str, str, str | None]:
    return access.by, access.kind, access.what, access.address


def _printable(what: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in what[:WHAT_CHARS_MAX]) or "?"


def _lose(access: Access, reason: str) -> None:
    _lost.inc()
    log.error("access_lost", by=access.by, kind=access.kind, what=access.what, address=access.address, reason=reason)


def unrecorded() -> ApiError:
    return ApiError(
        503,
        "AUDIT_UNAVAILABLE",
        "This must be recorded in the audit first, and that is not possible at the moment",
        hint="Try again shortly. The service api records it, and its log may be full.",
    )
