"""Checks before a handler runs: HTTPS, authentication, the caller's limit, and the permission that the route
declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from drover.service.access_tokens import PEOPLE
from drover.service.config import Settings
from drover.web.audit import Audit
from drover.web.auth import Authenticator, Principal, note_principal
from drover.web.callers import Callers
from drover.web.errors import ApiError
from drover.web.limits import Limits
from drover.web.permissions import CHANGES, Permissions
from drover.web.route import ONE_USE, Limit, Permission, Route


@dataclass(frozen=True)
class Access:
    """Checks the callers of one process."""

    auth: Authenticator
    permissions: Permissions
    callers: Callers
    limits: Limits = field(default_factory=Limits)
    audit: Audit | None = None
    """Records sensitive reads. None (only in tests): nothing is recorded."""

    @classmethod
    def of(
        cls, settings: Settings, auth: Authenticator, limits: Limits | None = None, audit: Audit | None = None
    ) -> Access:
        """`limits`: the counters that all routes of the process share. None: the routes that use this object get
        counters of their own."""
        return cls(auth, Permissions.of(settings), Callers.of(settings), limits or Limits.of(settings), audit)

    def identify(self, request: web.Request, headers: Mapping[str, str] | None = None) -> Principal:
        """Authenticate the caller. Raises 401, or 429 after too many failures. `headers`: where the token is, if it is
        not in the request's headers."""
        try:
            principal = self.auth.authenticate(request.headers if headers is None else headers)
        except ApiError as error:
            if error.status == 401:
                self.limits.count_failure(request)
            raise
        note_principal(request, principal)
        return principal

    def admit(self, request: web.Request, permission: Permission, limit: Limit = ONE_USE) -> Principal:
        """Authenticate the caller of a request, count the request and check the permission. Raises 401, 429 or 403."""
        principal = self.identify(request)
        self.limits.count(principal, request, limit.uses)
        self._check(principal, permission)
        return principal

    def _check(self, principal: Principal, permission: Permission) -> None:
        relation = permission.own if permission.own and principal.user_id else permission.relation
        self.permissions.demand(principal, relation, permission.verb)
        if self.audit is not None and permission.verb in CHANGES and principal.role in PEOPLE:
            self.audit.check_room()

    def guard(self, route: Route, handler: Callable[..., Any]) -> Callable[[web.Request], Any]:
        """Wrap a handler in the checks that its route declares."""
        inner = handler
        if route.caller == "token" and not route.identifies:
            inner = self._identified(route, self._recorded(route, handler))
        return self.in_private(inner) if route.is_guarded else inner

    def _recorded(self, route: Route, handler: Callable[..., Any]) -> Callable[..., Any]:
        """Record the read before the handler is called, if the route is audited."""
        audit, audited, permission = self.audit, route.audited, route.permission
        if audit is None or audited is None:
            return handler
        assert isinstance(permission, Permission)

        async def recorded(request: web.Request, principal: Principal) -> Any:
            if not (permission.own and principal.user_id):  # such a route shows people only their own data
                await audit.read(request, principal, audited)
            return await handler(request, principal)

        return recorded

    def in_private(self, handler: Callable[[web.Request], Any]) -> Callable[[web.Request], Any]:
        """Wrap a handler that takes credentials: refuse plain HTTP from other machines before looking at anything
        else."""
        demand_private = self.callers.demand_private

        def private(request: web.Request) -> Any:
            demand_private(request)
            return handler(request)

        return private

    def _identified(self, route: Route, handler: Callable[..., Any]) -> Callable[[web.Request], Any]:
        permission, limit = route.permission, route.limit
        if isinstance(permission, Permission):
            assert isinstance(limit, Limit)
            return lambda request: handler(request, self.admit(request, permission, limit))
        if not isinstance(limit, Limit):
            return lambda request: handler(request, self.identify(request))

        def counted(request: web.Request) -> Any:
            principal = self.identify(request)
            self.limits.count(principal, request, limit.uses)
            return handler(request, principal)

        return counted
