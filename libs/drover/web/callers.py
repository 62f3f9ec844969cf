"""Finds the address of a caller, and whether it used HTTPS. Behind a proxy, both come from the proxy's headers."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from aiohttp import web

from drover.service.config import ConfigurationError
from drover.web.errors import ApiError

FORWARDED_MAX: Final = 32
"""How many addresses of X-Forwarded-For are checked, the nearest first. The others are ignored."""
IPV6_PREFIX: Final = 64
"""The length of the prefix by which IPv6 callers are counted. One client has so many addresses that a limit per address
would not limit it."""

Address = IPv4Address | IPv6Address


class Callers:
    """Identifies callers, given the proxies whose headers are trusted."""

    def __init__(self, trusted_proxies: Sequence[str] = ()) -> None:
        try:
            self._trusted = [ip_network(entry, strict=False) for entry in trusted_proxies]
        except ValueError as error:
            raise ConfigurationError((f"DROVER_TRUSTED_PROXIES: {error}.",)) from error

    def key_of(self, request: web.Request) -> str:
        """Return the key by which the requests of a caller are counted for rate limits."""
        address = self._caller(request)
        if address is None:
            return "unknown"
        if isinstance(address, IPv6Address):
            return str(IPv6Network((address, IPV6_PREFIX), strict=False))
        return str(address)

    def is_local(self, request: web.Request) -> bool:
        """Whether the request comes from this machine and not through a proxy."""
        peer = _peer(request)
        return peer is not None and peer.is_loopback and "X-Forwarded-Proto" not in request.headers

    def demand_https(self, request: web.Request) -> None:
        """Refuse plain HTTP from another machine with 403: passwords and tokens must not be sent that way."""
        if not self.is_private(request):
            raise ApiError(
                403,
                "HTTPS_REQUIRED",
                "HTTPS is required from other machines",
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
            # Only a trusted proxy can claim HTTPS. From any other program on this machine the header shows only that
            # the request was forwarded, so the request does not count as private.
            claimed = request.headers.getall("X-Forwarded-Proto", [])
            protocols = {part.strip().lower() for value in claimed for part in value.split(",")}
            return protocols == {"https"} and self._is_trusted(peer)
        return False

    def _caller(self, request: web.Request) -> Address | None:
        """Return the address of the connection or, behind trusted proxies, the nearest forwarded address that is not a
        trusted proxy."""
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
