"""Checks before a handler runs: HTTPS, authentication, and the permission that the route declares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from drover.service.config import Settings
from drover.web.auth import Authenticator, Principal
from drover.web.callers import Callers
from drover.web.permissions import Permissions
from drover.web.route import Permission, Route


@dataclass(frozen=True)
class Access:
    """Checks the callers of one process."""

    auth: Authenticator
    permissions: Permissions
    callers: Callers

    @classmethod
    def of(cls, settings: Settings, auth: Authenticator) -> Access:
        return cls(auth, Permissions.of(settings), Callers(settings.trusted_proxies))

    def admit(self, request: web.Request, permission: Permission) -> Principal:
        """Authenticate the caller of a request and check the route's permission. Raises 401 or 403."""
        principal = self.auth.authenticate(request.headers)
        relation = permission.own if permission.own and principal.user_id else permission.relation
        self.permissions.demand(principal, relation, permission.verb)
        return principal

    def guard(self, route: Route, handler: Callable[..., Any]) -> Callable[[web.Request], Any]:
        """Wrap a handler in the checks that its route declares."""
        permission, demand_https = route.permission, self.callers.demand_https

        def admitted(request: web.Request) -> Any:
            assert isinstance(permission, Permission)
            return handler(request, self.admit(request, permission))

        inner = admitted if isinstance(permission, Permission) else handler
        if not route.https:
            return inner

        def private(request: web.Request) -> Any:
            demand_https(request)
            return inner(request)

        return private
