"""The access log: one line for each request, and one line each when a WebSocket or a stream opens and when it ends.

Lines have the names of query parameters, never their values: filters contain personal data, and URLs of films contain
tickets. Handlers leave out heartbeats, empty polls and probes with `UnloggedResponse`, so that these cost nothing here.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from time import perf_counter
from typing import Any, Final, Literal, Protocol

import msgspec
import structlog
from aiohttp import web
from multidict import MultiMapping

from drover.service import logging
from drover.service.reasons import reason_of
from drover.service.tracing import current_id
from drover.web.auth import principal_of
from drover.web.callers import Callers
from drover.web.user_agent import user_agent_of

NAME: Final = "drover.access"
GONE: Final = 499
"""The status in the line of a request whose client disconnected before the answer, as in nginx."""
QUERY_NAMES_MAX: Final = 24
USER_AGENT_CHARS_MAX: Final = 200
PATH_CHARS_MAX: Final = 300
FLUSH_S: Final = 0.05
"""How long a line waits at most before it is written, so that many lines share one write."""
FLUSH_BYTES: Final = 64 * 1024

_PARAMETER: Final = re.compile(r"[A-Za-z_][\w.>-]{0,39}")
"""What the name of a parameter looks like. Anything else could be a value that a client put in its place."""


class Stream(Protocol):
    """The file or terminal that lines are written to."""

    def write(self, text: str, /) -> object: ...
    def flush(self) -> None: ...


What = Literal["request", "socket_opened", "socket_ended", "stream_opened", "stream_ended"]

log = structlog.stdlib.get_logger(NAME)
faults = structlog.stdlib.get_logger("drover.web")


class Line(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One line of the access log."""

    event: What
    method: str
    route: str
    """The template of the path, as in metrics."""
    path: str
    query: list[str] = []
    """The names of the query parameters."""
    status: int
    ms: float
    """Milliseconds. Of a request: until the answer was made. Of the end of a socket or stream: since it opened."""
    bytes: int | None = None
    """The size of the answer's body."""
    principal: str | None = None
    """The caller as in `by` of events. None: nobody was authenticated."""
    address: str | None = None
    user_agent: str | None = None


class _Json(Line, kw_only=True, omit_defaults=True):
    trace_id: str | None = None
    level: str
    logger: str
    timestamp: str


class AccessLog:
    """Writes the lines of one process. Lines have the level info."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers
        self._lines = Lines()

    def note(
        self,
        what: What,
        request: web.Request,
        route: str,
        *,
        status: int,
        started: float,
        response: web.StreamResponse | None = None,
    ) -> None:
        """Write a line. `started`: when the request or the socket began, on the clock `perf_counter`."""
        if not logging.is_logged(NAME):
            return
        principal = principal_of(request)
        line = Line(
            event=what,
            method=request.method,
            route=route,
            path=logging.hidden_in(request.path[:PATH_CHARS_MAX]),
            query=_names(request.query) if request.query_string else [],
            status=status,
            ms=round((perf_counter() - started) * 1000, 1),
            bytes=_size(response),
            principal=None if principal is None else principal.name,
            address=self._callers.address_of(request),
            user_agent=_agent(request.headers),
        )
        if (stream := logging.access_file or logging.json_stream) is None:
            shown = {name: value for name, value in _fields(line) if name != "event" and value not in (None, [])}
            log.info(line.event, **shown)
        else:
            self._lines.add(stream, line)

    def flush(self) -> None:
        self._lines.flush()


class Lines:
    """Encodes lines as JSON and writes several at once. It bypasses the general logger, whose processing takes several
    times as long."""

    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._size = 0
        self._stream: Stream | None = None
        self._scheduled: asyncio.TimerHandle | None = None

    def add(self, stream: Stream, line: Line) -> None:
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        full = _Json(**dict(_fields(line)), trace_id=current_id(), level="info", logger=NAME, timestamp=now)
        self._stream = stream
        self._waiting.append(encoded := _encode(full).decode())
        self._size += len(encoded)
        if self._size >= FLUSH_BYTES:
            self.flush()
        elif self._scheduled is None:
            self._scheduled = asyncio.get_running_loop().call_later(FLUSH_S, self.flush)

    def flush(self) -> None:
        if self._scheduled is not None:
            self._scheduled.cancel()
            self._scheduled = None
        if self._waiting and self._stream is not None:
            text = "\n".join(self._waiting) + "\n"
            self._waiting.clear()
            self._size = 0
            try:
                self._stream.write(text)
                self._stream.flush()
            except OSError as error:  # the disk is full, for example: requests must not fail for that
                faults.warning("access_log_not_written", reason=reason_of(error))


_encode: Final = msgspec.json.Encoder().encode


def _fields(line: Line) -> list[tuple[str, Any]]:
    return [(name, getattr(line, name)) for name in Line.__struct_fields__]


def _names(query: MultiMapping[str]) -> list[str]:
    names = list(dict.fromkeys(query))[:QUERY_NAMES_MAX]
    return [name if _PARAMETER.fullmatch(name) else logging.HIDDEN for name in names]


def _agent(headers: Mapping[str, str]) -> str | None:
    agent = user_agent_of(headers, USER_AGENT_CHARS_MAX)
    return None if agent is None else logging.hidden_in(agent)


def _size(response: web.StreamResponse | None) -> int | None:
    """Return the size of the answer's body. A handler that sends the body itself has sent it by now."""
    if response is None:
        return None
    if isinstance(response, web.Response):
        return response.content_length
    return response.body_length if response.prepared else None
