"""Decides which IP addresses may be called, because a host name must not lead our requests into our own network."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final

_NAT64: Final = IPv6Network("64:ff9b::/96")
_COMPATIBLE: Final = IPv6Network("::/96")
"""IPv6 addresses of a deprecated form whose last 32 bits are an IPv4 address."""


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether the address is on the public internet: not private, loopback, link-local, shared, reserved, multicast or
    documentation."""
    return all(one.is_global and not one.is_multicast and not one.is_reserved for one in _with_embedded(address))


def _with_embedded(address: IPv4Address | IPv6Address) -> list[IPv4Address | IPv6Address]:
    """Return the addresses that a request to `address` may reach: itself, and IPv4 addresses that are embedded in it,
    because a gateway may forward the request to those."""
    if isinstance(address, IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    carried: list[IPv4Address | IPv6Address] = []
    if address.sixtofour is not None:
        carried.append(address.sixtofour)
    if address.teredo is not None:
        carried.extend(address.teredo)
    if address in _NAT64:
        return [IPv4Address(int(address) & 0xFFFFFFFF)]
    if address in _COMPATIBLE and int(address) > 1:
        carried.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return [address, *carried]


def literal(host: str) -> IPv4Address | IPv6Address | None:
    """Parse the host as an IP address; None if it is a name."""
    try:
        return ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
