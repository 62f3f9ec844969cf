"""Finds the platform's address and a key: by the options, the environment, or the data directory of `drover up`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

import click
import msgspec

from drover.cli.errors import NoAddress, NoKey
from drover.cli.options import DATA_DIR_DEFAULT
from drover.cli.server_options import Server
from drover.cli.stored import read_stored
from drover.embedded.credentials import Credentials
from drover.service.config import CLIENT_KEY, CLIENT_URL
from drover.service.secret_files import read_secret_files

OPTION: Final = "--url"


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """Where the platform is, and the key to use it with."""

    url: str
    """Without a slash at its end."""
    key: str
    source: str
    """Where the address comes from, for messages to people."""
    key_source: str

    @property
    def advice(self) -> str:
        named = self.source in (OPTION, CLIENT_URL)
        return f"check {self.source}, and that the platform runs." if named else "is `drover up` running?"


def find_access(server: Server, environ: Mapping[str, str] = os.environ) -> Access:
    """Find the platform. Options come first, then a data directory that was named, the environment, and the default
    directory.

    The key of a data directory is sent to the address in that directory, or to one that was given with `--data-dir`
    beside it, never to an address of the environment.
    """
    known = dict(environ)
    read_secret_files(known, [CLIENT_KEY])
    named = server.data_dir is not None
    stored = _stored(server, known)
    url, source = _url(server, known, stored, named=named)
    key, key_source = _key(server, known, stored, url, named=named)
    url = _checked(url, source)
    if _is_read_on_the_way(url):
        click.echo(f"Warning: {url} is not encrypted: others in the network can read the key. Use https.", err=True)
    return Access(url=url, key=key, source=source, key_source=key_source)


def find_address(server: Server, environ: Mapping[str, str] = os.environ) -> tuple[Access, Credentials | None]:
    """Find the platform, for a request without a key. Also returns what the data directory knows, if the address comes
    from there: its password is never sent to another address."""
    known = dict(environ)
    stored = _stored(server, known)
    url, source = _url(server, known, stored, named=server.data_dir is not None)
    own = stored[0] if stored is not None and source == stored[1] else None
    return Access(url=_checked(url, source), key="", source=source, key_source=""), own


def _stored(server: Server, environ: Mapping[str, str]) -> tuple[Credentials, str] | None:
    """Read the data directory, if it is named, or if nothing else says where the platform is."""
    if server.data_dir is None and (server.url or environ.get(CLIENT_URL)):
        return None
    path = (server.data_dir or DATA_DIR_DEFAULT) / "credentials.json"
    known = read_stored(path, Credentials)
    if known is None:
        if server.url and server.key:
            return None
        raise NoAddress(path.parent, is_named=server.data_dir is not None)
    return known, str(path)


def _url(
    server: Server, environ: Mapping[str, str], stored: tuple[Credentials, str] | None, *, named: bool
) -> tuple[str, str]:
    if server.url:
        return server.url, OPTION
    if not named and (url := environ.get(CLIENT_URL)):
        return url, CLIENT_URL
    assert stored is not None
    return stored[0].url, stored[1]


def _key(
    server: Server, environ: Mapping[str, str], stored: tuple[Credentials, str] | None, url: str, *, named: bool
) -> tuple[str, str]:
    if server.key:
        return server.key, "--key"
    if not named and (key := environ.get(CLIENT_KEY)):
        return key, CLIENT_KEY
    if stored is None:
        raise NoKey(url)
    return stored[0].service_key, stored[1]


def _checked(url: str, source: str) -> str:
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good:
        raise click.UsageError(f"{url!r} of {source} is not an address. Write it as http://127.0.0.1:8080.")
    return url.rstrip("/")


def _is_read_on_the_way(url: str) -> bool:
    """Whether requests to this address leave the machine without encryption."""
    parts = urlsplit(url)
    if parts.scheme == "https" or parts.hostname in (None, "localhost"):
        return False
    try:
        return not ip_address(parts.hostname).is_loopback
    except ValueError:  # a name
        return True
