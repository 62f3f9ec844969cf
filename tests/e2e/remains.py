"""What is left of a person on a machine, and what somebody could read of it who has all its files and its keys."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import asyncpg
import msgspec
from nats.aio.client import Client
from zstandard import FRAME_HEADER, ZstdDecompressor

from drover.api.audit.network_addresses import PURPOSE as NETWORK_ADDRESS
from drover.api.identity.addresses import PURPOSE as EMAIL
from drover.api.identity.passwords import PURPOSE as PASSWORD
from drover.bus.connection import connected
from drover.domain.contexts import SUBJECT_CONTEXTS
from drover.domain.erasure import SealedText, parse_sealed
from drover.embedded.credentials import Secrets
from drover.service.sealing import Ring, SealDamaged, UnknownSealingKey
from drover.service.subject_sealing import WrappedKey, unwrap

PURPOSES: Final = ("title", "body", "gfx_data", EMAIL, PASSWORD, NETWORK_ADDRESS)
_SEALED: Final = re.compile(rb"sealed:2:[a-z0-9]+\.[A-Za-z0-9_-]{22}\.\d+:[A-Za-z0-9_-]+")
_WITH_ITS_KEY: Final = re.compile(rb'\{[\\"]*v[\\"]*:\d+,[\\"]*kid[\\"]*:')
_KEY: Final = re.compile(rb'\{"token":"[^{}]*"wrap":"[^{}]*"\}')

Places = Mapping[str, bytes]
"""All bytes of each place in which something may be left."""


async def places_of(credentials: Mapping[str, str], data_dir: Path, *more: Path) -> dict[str, bytes]:
    """Everything that NATS and Postgres have, as they show it and as it is on disk, and what is in further folders."""
    async with connected(credentials["nats_url"], "search") as client:
        places = {f"stream {name}": await _messages(client, name) async for name in _streams(client)}
    connection = await asyncpg.connect(credentials["postgres_url"])
    try:
        # With the WAL of before in the files, and all pages of the tables.
        await connection.execute("CHECKPOINT")
        places["tables"] = b"".join([row async for row in _rows(connection)])
    finally:
        await connection.close()
    folders = sorted(one for folder in (data_dir, *more) for one in folder.iterdir())
    return places | {str(folder): contents_of(folder) for folder in folders}


def contents_of(folder: Path) -> bytes:
    """The bytes of all files, as they are and unpacked."""
    return b"\n".join(content for path in _files(folder) for content in _contents(path))


def those_with(places: Places, text: str) -> list[str]:
    """The places that have a text as it is."""
    forms = (text.encode(), text.encode("utf-16-le"))
    return [name for name, content in places.items() if any(form in content for form in forms)]


def readable(places: Places, ring: Ring) -> set[str]:
    """All sealed texts that can be read with keys that are in these places, and with the ring."""
    content = b"\n".join(places.values())
    keys = [msgspec.json.decode(found, type=WrappedKey) for found in set(_KEY.findall(content))]
    sealed = [one for text in sealed_in(places) if (one := parse_sealed(text)) is not None]
    return {text for one in sealed for text in _opened(one, keys, ring)}


def sealed_in(places: Places) -> set[str]:
    """All texts in these places that are sealed with the key of a subject."""
    return {text.decode() for content in places.values() for text in _SEALED.findall(content)}


def with_their_keys(places: Places) -> set[str]:
    """The places with data that is sealed as earlier versions did it: with its key inside, for whoever has the ring."""
    return {name for name, content in places.items() if _WITH_ITS_KEY.search(content)}


def ring_of(data_dir: Path) -> Ring:
    secrets = msgspec.json.decode((data_dir / "secrets.json").read_bytes(), type=Secrets)
    return Ring.from_settings([secrets.sealing_key])


def _opened(sealed: SealedText, keys: Iterable[WrappedKey], ring: Ring) -> Iterator[str]:
    for key in keys:
        if (key.token, key.generation) != (sealed.ref.token, sealed.ref.generation):
            continue
        for context in SUBJECT_CONTEXTS:
            for purpose in PURPOSES:
                with suppress(SealDamaged, UnknownSealingKey):
                    subject_key = unwrap(ring, context, sealed.ref.partition, key)
                    yield subject_key.open(sealed, purpose=purpose).decode()


def _files(folder: Path) -> list[Path]:
    return [folder] if folder.is_file() else [path for path in folder.rglob("*") if path.is_file()]


def _contents(path: Path) -> Iterator[bytes]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:  # a server has removed it just now
        return
    yield data
    if data.startswith(FRAME_HEADER):
        yield ZstdDecompressor().stream_reader(data, read_across_frames=True).read()


async def _streams(client: Client) -> AsyncIterator[str]:
    for info in await client.jetstream().streams_info():
        yield info.config.name


async def _messages(client: Client, stream: str) -> bytes:
    """Whatever a stream still has. Most of the log is compressed in the files of NATS."""
    jetstream = client.jetstream()
    info = await jetstream.stream_info(stream)
    if not info.state.messages:
        return b""
    subscription = await jetstream.subscribe(">", stream=stream, ordered_consumer=True)
    found: list[bytes] = []
    try:
        while True:
            message = await subscription.next_msg(timeout=10)
            found.append(message.data)
            if message.metadata.sequence.stream >= info.state.last_seq or not message.metadata.num_pending:
                return b"\n".join(found)
    finally:
        await subscription.unsubscribe()


async def _rows(connection: asyncpg.Connection) -> AsyncIterator[bytes]:
    tables = await connection.fetch(
        "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables "
        "WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
    )
    for table in tables:
        for row in await connection.fetch(f"SELECT t::text AS line FROM {table['name']} t"):
            yield row["line"].encode() + b"\n"
