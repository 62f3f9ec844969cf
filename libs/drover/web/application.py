"""Makes the aiohttp application, and wraps every handler: traces, errors and metrics."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from time import perf_counter
from typing import Final, TypeVar

import structlog
from aiohttp import WSCloseCode, web

from drover.domain.errors import Code
from drover.service import tracing
from drover.service.health import Health
from drover.service.metrics import route_meter
from drover.service.tracing import begin, current_id, end_request
from drover.web.access import Access
from drover.web.access_log import GONE, AccessLog
from drover.web.answers import UnloggedResponse
from drover.web.audit import Audit
from drover.web.cors import Cors
from drover.web.errors import ApiError, NotYet, from_http, internal, too_large
from drover.web.large_answers import send_if_large
from drover.web.limits import LIMITED, Limits
from drover.web.probes import Probes
from drover.web.ratelimit import Limited
from drover.web.route import Limit, Socket, declared
from drover.web.sockets import CountedSocket, Session, Sockets
from drover.web.sse import EventStream

log = structlog.stdlib.get_logger(__name__)

ANY: Final = "*"
PREFLIGHT: Final = "OPTIONS"
"""The method of a preflight: browsers ask with it whether a page may call another origin, before they send the request
itself."""
CHANGES: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
"""The methods of requests that may change something."""
SOCKETS: Final = web.AppKey("sockets", Sockets)
"""The key of the open WebSockets in an application."""
LIMITS: Final = web.AppKey("limits", Limits)
"""The key of the limits in an application."""

ACCESS_LOG: Final = web.AppKey("access_log", AccessLog)
"""The key of the access log in an application that has one."""

AUDIT: Final = web.AppKey("audit", Audit)
"""The key of the audit in an application that records changes."""

CORS: Final = web.AppKey("cors", Cors)
"""The key of the CORS rules (which pages of other origins may call) in an application."""

T = TypeVar("T")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Accept = Callable[[web.Request], Awaitable[Session]]


def create_application(
    health: Health,
    *,
    body_bytes_max: int,
    limits: Limits | None = None,
    access_log: AccessLog | None = None,
    audit: Audit | None = None,
    cors: Cors | None = None,
) -> web.Application:
    """Make an application with probes and a 404 for unknown paths. `cors`: which pages of other origins may call. None:
    only our own pages."""
    app = web.Application(client_max_size=body_bytes_max)
    app[CORS] = cors = cors or Cors()
    cors.install(app)
    if access_log is not None:
        app[ACCESS_LOG] = access_log
        app.on_cleanup.append(partial(_flush, access_log))
    if audit is not None:
        app[AUDIT] = audit
    app[SOCKETS] = sockets = Sockets()
    app[LIMITS] = limits or Limits()

    async def close_sockets(app: web.Application) -> None:
        await sockets.close_all()

    # `serve` closes the sockets itself before this; this is for other servers. Without it, aiohttp would wait for each
    # socket as for a request.
    app.on_shutdown.append(close_sockets)
    add_handlers(app, [Probes(health)])
    # The router tries the longest path first, so this catch-all comes last, whatever is added later.
    # It does not match "/", so a service can have a page there.
    add_route(app, ANY, "/{path:.+}", nothing_here)
    return app


async def _flush(access_log: AccessLog, app: web.Application) -> None:
    access_log.flush()


def add_handlers(app: web.Application, handlers: Iterable[object], access: Access | None = None) -> None:
    """Add the routes that the classes of these handlers declare. `access` is needed if a route takes a token or the
    cron secret, or demands HTTPS."""
    for one in handlers:
        for name, route in declared(type(one)):
            handler = getattr(one, name)
            if route.caller != "token" and isinstance(route.limit, Limit):
                handler = _count_address(app[LIMITS], route.limit, handler)
            if route.is_guarded:
                assert access is not None, f"{route.method} {route.path} needs access control"
                handler = access.guard(route, handler)
            if route.socket is None:
                add_route(app, route.method, route.path, handler, changes=route.changes)
            else:
                add_socket(app, route.path, handler, route.socket)


def _count_address(limits: Limits, limit: Limit, handler: Handler) -> Handler:
    def counted(request: web.Request) -> Awaitable[web.StreamResponse]:
        limits.count_address(request, limit.uses)
        return handler(request)

    return counted


def add_route(app: web.Application, method: str, path: str, handler: Handler, *, changes: bool = False) -> None:
    """Add a handler with its wrapper. aiohttp's middlewares are not used, because they would slow heartbeats by a
    fifth.

    If `method` is ANY, allowed CORS preflights are answered before the handler, which gets the other OPTIONS requests.
    `changes`: whether every successful request counts as a change in the audit, whatever its answer looks like.
    """
    access_log = app.get(ACCESS_LOG)
    if method == ANY:
        asked = _ask_cors(app[CORS], handler)
        app.router.add_route(PREFLIGHT, path, _edge(PREFLIGHT, path, asked, access_log, None))
    audit = app.get(AUDIT) if method in CHANGES else None
    app.router.add_route(method, path, _edge(method, path, handler, access_log, audit, changes=changes))
    if method == "GET":
        app.router.add_route("HEAD", path, _edge("HEAD", path, handler, access_log, None))


def _ask_cors(cors: Cors, handler: Handler) -> Handler:
    async def asked(request: web.Request) -> web.StreamResponse:
        answer = cors.preflight(request)
        return await handler(request) if answer is None else answer

    return asked


def _edge(
    method: str,
    path: str,
    handler: Handler,
    access_log: AccessLog | None,
    audit: Audit | None,
    *,
    changes: bool = False,
) -> Handler:
    """Wrap a handler: trace the request, answer errors as JSON, record metrics, write the access log and the audit."""
    meter = route_meter(path, method)
    is_watched = access_log is not None or audit is not None

    async def edge(request: web.Request) -> web.StreamResponse:
        started = perf_counter()
        place = begin(request.headers.get("traceparent"))
        try:
            response = await _when_ready(handler, request)
        except ConnectionError:  # the client has disconnected: there is nobody to answer
            if access_log is not None:
                access_log.note("request", request, path, status=GONE, started=started)
            raise
        except Exception as error:
            response = _answer(request, error, path)
        meter.observe(response.status, perf_counter() - started)
        if tracing.recorder is not None:
            status = response.status
            attributes = {"http.request.method": method, "http.route": path, "http.response.status_code": status}
            end_request(place, f"{method} {path}", started, attributes, failed=status >= 500)
        # After the span has ended: writing a line reads the trace, and a trace that was read would produce a span.
        if is_watched and type(response) is not UnloggedResponse:
            if access_log is not None:
                _note(access_log, request, path, response, started)
            if audit is not None:
                audit.changed(request, path, response, declared=changes)
        if type(response) is web.Response:  # not an UnloggedResponse: answers to heartbeats are small
            await send_if_large(request, response)
        return response

    return edge


def _note(access_log: AccessLog, request: web.Request, path: str, response: web.StreamResponse, started: float) -> None:
    note = partial(access_log.note, request=request, route=path, status=response.status, started=started)
    if isinstance(response, EventStream):
        note("stream_opened")
        response.on_end = partial(note, "stream_ended", response=response)
    else:
        note("request", response=response)


async def _when_ready(serve: Callable[[web.Request], Awaitable[T]], request: web.Request) -> T:
    try:
        return await serve(request)
    except NotYet as not_yet:
        await not_yet.ready()
        return await serve(request)


def add_socket(app: web.Application, path: str, accept: Accept, limits: Socket) -> None:
    """Accept WebSockets at a path.

    `accept` gets the request before the upgrade and authenticates it; its errors are answered as JSON. It returns a
    session, which owns the socket while it runs. The upgrade may still fail, so the session must hold no resources
    before it runs. Request metrics cover the time up to the upgrade; after that, `drover_sockets_open` counts the
    socket.
    """
    meter = route_meter(path, "GET")
    sockets, access_log, cors = app[SOCKETS], app.get(ACCESS_LOG), app[CORS]
    sockets.close_s = max(sockets.close_s, limits.close_s)

    async def edge(request: web.Request) -> web.StreamResponse:
        started = perf_counter()
        begin(request.headers.get("traceparent"))
        socket = CountedSocket(limits.frame_bytes_max)
        try:
            _check_upgrade(request, socket)
            cors.demand_socket(request)
            sockets.check_room()
            session = await _when_ready(accept, request)
            sockets.check_room()  # check again, because `accept` may have taken long
            await socket.prepare(request)
        except ConnectionError:
            raise
        except Exception as error:
            response = _answer(request, error, path)
            meter.observe(response.status, perf_counter() - started)
            if access_log is not None:
                _note(access_log, request, path, response, started)
            return response
        meter.observe(socket.status, perf_counter() - started)
        if access_log is not None:
            access_log.note("socket_opened", request, path, status=socket.status, started=started)
        if sockets.closing:  # the shutdown began meanwhile and would not close this socket
            await socket.close(code=WSCloseCode.SERVICE_RESTART)
            return socket
        try:
            with sockets.opened(session, path):
                await _run(request, session, socket)
        finally:
            if access_log is not None:
                access_log.note("socket_ended", request, path, status=socket.close_code or GONE, started=started)
        return socket

    app.router.add_route("GET", path, edge)


def _check_upgrade(request: web.Request, socket: web.WebSocketResponse) -> None:
    try:
        upgrades = socket.can_prepare(request).ok
    except ValueError:  # a key that is not even ASCII
        upgrades = False
    if not upgrades:
        raise ApiError(
            426,
            "UPGRADE_REQUIRED",
            "This path takes WebSockets only",
            hint="Connect with a WebSocket client.",
            headers={"Upgrade": "websocket", "Connection": "Upgrade"},
        )


async def _run(request: web.Request, session: Session, socket: web.WebSocketResponse) -> None:
    try:
        await session.run(socket)
    except ConnectionError:  # the client has disconnected
        pass
    except Exception as error:
        log.error("socket_failed", path=request.path, exc_info=error)
        await socket.close(code=WSCloseCode.INTERNAL_ERROR)
    else:
        await socket.close()  # no effect if it is closed already


def _answer(request: web.Request, error: Exception, route: str) -> web.StreamResponse:
    if isinstance(error, Limited):
        LIMITED.labels(error.kind, route).inc()
    if isinstance(error, ApiError):
        return error.response(request.path)
    if isinstance(error, web.HTTPRequestEntityTooLarge):
        return too_large(request.client_max_size).response(request.path)
    if isinstance(error, web.HTTPException):
        return error if error.status < 400 else from_http(error).response(request.path)
    log.error("request_failed", method=request.method, path=request.path, exc_info=error)
    return internal(current_id()).response(request.path)


async def nothing_here(request: web.Request) -> web.StreamResponse:
    """Answer a request that no route matches: 404, or 405 if the path exists for another method."""
    allowed: set[str] = set()
    for resource in request.app.router.resources():
        allowed |= (await resource.resolve(request))[1]
    allowed -= {ANY, PREFLIGHT}
    if not allowed:
        raise ApiError(404, Code.NOT_FOUND, "There is nothing at this path")
    raise ApiError(
        405,
        "METHOD_NOT_ALLOWED",
        "This path does not take this method",
        headers={"Allow": ", ".join(sorted(allowed))},
    )
