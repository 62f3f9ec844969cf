"""From where a request comes, and whether it came in private. Behind a proxy only the proxy knows."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from aiohttp import web

from drover.service.config import ConfigurationError
from drover.web.errors import ApiError

FORWARDED_MAX: Final = 32
"""Addresses in X-Forwarded-For that are looked at, from the nearest on."""
IPV6_PREFIX: Final = 64
"""What one subscriber has: limits by single addresses would limit nobody."""

Address = IPv4Address | IPv6Address


class Callers:
    """What can be said about callers, given the proxies that are believed."""

    def __init__(self, trusted_proxies: Sequence[str] = ()) -> None:
        try:
            self._trusted = [ip_network(entry, strict=False) for entry in trusted_proxies]
        except ValueError as error:
            raise ConfigurationError((f"DROVER_TRUSTED_PROXIES: {error}.",)) from error

    def key_of(self, request: web.Request) -> str:
        """By what the caller's tries are counted."""
        address = self._caller(request)
        if address is None:
            return "unknown"
        if isinstance(address, IPv6Address):
            return str(IPv6Network((address, IPV6_PREFIX), strict=False))
        return str(address)

    def is_local(self, request: web.Request) -> bool:
        """From this machine, and not through a proxy."""
        peer = _peer(request)
        return peer is not None and peer.is_loopback and "X-Forwarded-Proto" not in request.headers

    def demand_https(self, request: web.Request) -> None:
        """403 for what came in the clear from another machine: passwords and tokens must not travel so."""
        if not self.is_private(request):
            raise ApiError(
                403,
                "HTTPS_REQUIRED",
                "HTTPS is required beyond this machine",
                hint="Put a proxy with TLS in front, and name it in DROVER_TRUSTED_PROXIES.",
            )

    def is_private(self, request: web.Request) -> bool:
        peer = _peer(request)
        if peer is None:
            return False
        if request.transport is not None and request.transport.get_extra_info("ssl_object") is not None:
            return True
        if self.is_local(request):
            return True
        if peer.is_loopback or self._is_trusted(peer):
            # From this machine a header can only take away: whoever says that it was plain HTTP is believed.
            claimed = request.headers.getall("X-Forwarded-Proto", [])
            protocols = {part.strip().lower() for value in claimed for part in value.split(",")}
            return protocols == {"https"} and self._is_trusted(peer)
        return False

    def _caller(self, request: web.Request) -> Address | None:
        """The peer, or whom a trusted one speaks for: the nearest address that is not a trusted proxy itself."""
        caller = _peer(request)
        if caller is None or not self._is_trusted(caller):
            return caller
        listed = ",".join(request.headers.getall("X-Forwarded-For", [])).split(",")[-FORWARDED_MAX:]
        for text in reversed(listed):
            address = _parsed(text.strip())
            if address is None:
                return caller
            caller = address
            if not self._is_trusted(address):
                return address
        return caller

    def _is_trusted(self, address: Address) -> bool:
        return any(address in network for network in self._trusted)


def _peer(request: web.Request) -> Address | None:
    name = request.transport.get_extra_info("peername") if request.transport is not None else None
    return _parsed(name[0]) if isinstance(name, tuple) and name else None


def _parsed(text: str) -> Address | None:
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
