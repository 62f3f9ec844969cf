"""Makes the aiohttp application, and wraps every handler: traces, errors and metrics."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
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
from drover.web.errors import ApiError, NotYet, from_http, internal, too_large
from drover.web.probes import Probes
from drover.web.route import Socket, declared
from drover.web.sockets import CLOSE_HANDSHAKE_S, Session, Sockets

log = structlog.stdlib.get_logger(__name__)

ANY: Final = "*"
SOCKETS: Final = web.AppKey("sockets", Sockets)
"""The key of the open WebSockets in an application."""

T = TypeVar("T")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Accept = Callable[[web.Request], Awaitable[Session]]


def create_application(health: Health, *, body_bytes_max: int) -> web.Application:
    app = web.Application(client_max_size=body_bytes_max)
    app[SOCKETS] = sockets = Sockets()

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


def add_handlers(app: web.Application, handlers: Iterable[object], access: Access | None = None) -> None:
    """Add the routes that the classes of these handlers declare. A route with checks needs `access`."""
    for one in handlers:
        for name, route in declared(type(one)):
            handler = getattr(one, name)
            if route.is_guarded:
                assert access is not None, f"{route.method} {route.path} needs access control"
                handler = access.guard(route, handler)
            if route.socket is None:
                add_route(app, route.method, route.path, handler)
            else:
                add_socket(app, route.path, handler, route.socket)


def add_route(app: web.Application, method: str, path: str, handler: Handler) -> None:
    """Add a handler with its wrapper. aiohttp's middlewares are not used, because they would slow heartbeats by a
    fifth."""
    app.router.add_route(method, path, _edge(method, path, handler))
    if method == "GET":
        app.router.add_route("HEAD", path, _edge("HEAD", path, handler))


def _edge(method: str, path: str, handler: Handler) -> Handler:
    """Wrap a handler: trace the request, answer errors as JSON, record metrics. Only failures are logged."""
    meter = route_meter(path, method)

    async def edge(request: web.Request) -> web.StreamResponse:
        started = perf_counter()
        place = begin(request.headers.get("traceparent"))
        try:
            response = await _when_ready(handler, request)
        except ConnectionError:  # the client has disconnected: there is nobody to answer
            raise
        except Exception as error:
            response = _answer(request, error)
        meter.observe(response.status, perf_counter() - started)
        if tracing.recorder is not None:
            status = response.status
            attributes = {"http.request.method": method, "http.route": path, "http.response.status_code": status}
            end_request(place, f"{method} {path}", started, attributes, failed=status >= 500)
        return response

    return edge


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
    sockets = app[SOCKETS]
    sockets.close_s = max(sockets.close_s, limits.close_s)

    async def edge(request: web.Request) -> web.StreamResponse:
        started = perf_counter()
        begin(request.headers.get("traceparent"))
        # Without compression, which would take about 300 KiB per socket for frames of a few hundred bytes.
        socket = web.WebSocketResponse(timeout=CLOSE_HANDSHAKE_S, compress=False, max_msg_size=limits.frame_bytes_max)
        try:
            _check_upgrade(request, socket)
            sockets.check_room()
            session = await _when_ready(accept, request)
            sockets.check_room()  # again: `accept` may have taken long
            await socket.prepare(request)
        except ConnectionError:
            raise
        except Exception as error:
            response = _answer(request, error)
            meter.observe(response.status, perf_counter() - started)
            return response
        meter.observe(socket.status, perf_counter() - started)
        if sockets.closing:  # shutdown began meanwhile and does not know of this socket
            await socket.close(code=WSCloseCode.SERVICE_RESTART)
            return socket
        with sockets.opened(session, path):
            await _run(request, session, socket)
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


def _answer(request: web.Request, error: Exception) -> web.StreamResponse:
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
    allowed.discard(ANY)
    if not allowed:
        raise ApiError(404, Code.NOT_FOUND, "There is nothing at this path")
    raise ApiError(
        405,
        "METHOD_NOT_ALLOWED",
        "This path does not take this method",
        headers={"Allow": ", ".join(sorted(allowed))},
    )
