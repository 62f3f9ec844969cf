"""Finds the address of a caller, and whether its connection is private. Behind a proxy, both come from the proxy's
headers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, NamedTuple

from aiohttp import web
from multidict import istr

from drover.service.config import ConfigurationError, Settings
from drover.web.errors import ApiError

FORWARDED_MAX: Final = 32
"""How many addresses of X-Forwarded-For are checked, the nearest first. The others are ignored."""
IPV6_PREFIX: Final = 64
"""The length of the prefix by which IPv6 callers are counted. One client has a whole network of addresses, so a limit
per address would not limit it."""
PEERS_MAX: Final = 4096
"""How many addresses are remembered in parsed form, so that a heartbeat does not parse its caller's address again."""

_PROTO, _FOR, _FORWARDED, _REAL = map(istr, ("X-Forwarded-Proto", "X-Forwarded-For", "Forwarded", "X-Real-IP"))
"""The headers that proxies add."""

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_WAYS_OUT: Final = (
    "Use https: give Drover a certificate (`drover up --tls-cert FILE --tls-key FILE`), or put a proxy with TLS in"
    " front of it and name it in DROVER_TRUSTED_PROXIES. In a closed network, DROVER_PLAIN_HTTP_FROM can name the"
    " addresses that may use plain HTTP."
)


class _Peer(NamedTuple):
    """The other end of a connection: the caller, or the last proxy before us."""

    address: Address
    is_loopback: bool
    is_trusted: bool


class Callers:
    """Identifies callers, given the proxies whose headers are trusted, and the networks that may use plain HTTP."""

    def __init__(self, trusted_proxies: Sequence[str] = (), plain_http_from: Sequence[str] = ()) -> None:
        self._trusted = _networks("DROVER_TRUSTED_PROXIES", trusted_proxies)
        self._plain = _networks("DROVER_PLAIN_HTTP_FROM", plain_http_from)
        self._known = lru_cache(PEERS_MAX)(self._peer_at)

    @classmethod
    def of(cls, settings: Settings) -> Callers:
        return cls(settings.trusted_proxies, settings.plain_http_from)

    def key_of(self, request: web.Request) -> str:
        """Return the key by which the requests of a caller are counted for rate limits."""
        address = self._caller(request)
        if address is None:
            return "unknown"
        if isinstance(address, IPv6Address):
            return str(IPv6Network((address, IPV6_PREFIX), strict=False))
        return str(address)

    def address_of(self, request: web.Request) -> str | None:
        """Return the address of the caller, also after the connection has ended. None: it is not known."""
        address = self._caller(request)
        return None if address is None else str(address)

    def demand_private(self, request: web.Request) -> None:
        """Refuse plain HTTP from another machine with 403: passwords, keys and tokens must not be sent that way."""
        if not self.is_private(request):
            raise ApiError(403, "HTTPS_REQUIRED", "HTTPS is required from other machines", hint=_WAYS_OUT)

    def is_private(self, request: web.Request) -> bool:
        """Whether credentials are accepted on this connection. They are if it is encrypted, if it comes directly from
        this machine, or if plain HTTP is allowed from the caller's address."""
        peer = self._peer(request)
        if peer is None:
            return False
        if peer.is_loopback and not _was_forwarded(request):
            return True
        if self.is_encrypted(request):
            return True
        if not self._plain:
            return False
        caller = self._caller(request)
        return caller is not None and _is_in(self._plain, caller)

    def is_encrypted(self, request: web.Request) -> bool:
        """Whether the caller used HTTPS, to us or to a trusted proxy. Only a trusted proxy's X-Forwarded-Proto is
        believed."""
        if request.transport is not None and request.transport.get_extra_info("ssl_object") is not None:
            return True
        peer = self._peer(request)
        if peer is None or not peer.is_trusted:
            return False
        claimed = request.headers.getall("X-Forwarded-Proto", [])
        return {part.strip().lower() for value in claimed for part in value.split(",")} == {"https"}

    def _caller(self, request: web.Request) -> Address | None:
        """Return the address of the connection or, behind trusted proxies, the nearest forwarded address that is not a
        trusted proxy."""
        peer = self._peer(request)
        if peer is None or not peer.is_trusted:
            return None if peer is None else peer.address
        caller = peer.address
        listed = ",".join(request.headers.getall("X-Forwarded-For", [])).split(",")[-FORWARDED_MAX:]
        for text in reversed(listed):
            address = _parsed(text.strip())
            if address is None:
                return caller
            caller = address
            if not _is_in(self._trusted, address):
                return address
        return caller

    def _peer(self, request: web.Request) -> _Peer | None:
        if request.transport is None:  # the connection is gone; aiohttp remembers its address
            return None if request.remote is None else self._known(request.remote)
        name = request.transport.get_extra_info("peername")
        return self._known(name[0]) if isinstance(name, tuple) and name else None

    def _peer_at(self, text: str) -> _Peer | None:
        address = _parsed(text)
        return None if address is None else _Peer(address, address.is_loopback, _is_in(self._trusted, address))


def _was_forwarded(request: web.Request) -> bool:
    """Whether the request has a header that proxies add. If so, its caller is on another machine, even if the
    connection comes from this one."""
    headers = request.headers
    return _FOR in headers or _PROTO in headers or _REAL in headers or _FORWARDED in headers


def _networks(setting: str, entries: Sequence[str]) -> list[Network]:
    try:
        return [ip_network(entry, strict=False) for entry in entries]
    except ValueError as error:
        raise ConfigurationError((f"{setting}: {error}.",)) from error


def _is_in(networks: Sequence[Network], address: Address) -> bool:
    return any(address in network for network in networks)


def _parsed(text: str) -> Address | None:
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
