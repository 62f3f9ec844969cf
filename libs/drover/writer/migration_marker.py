"""The mark of a log that is being recreated (`drover log migrate`). While a context has a mark, no service may start:
between two steps the stream is missing or incomplete, and a writer would begin a new log.

The marks are in the metadata of the bucket of leases: every service may read it, and it stays when the stream is
deleted.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

import msgspec
from nats.aio.client import Client
from nats.js.errors import NotFoundError

from drover.domain.errors import DroverError
from drover.eventlog.bucket import ensure_bucket
from drover.writer.nats_lease import BUCKET

_STREAM: Final = f"KV_{BUCKET}"
_KEY: Final = "drover_migrating_"


class HalfMigrated(DroverError):
    """The log of a context is being recreated, or that was interrupted."""

    def __init__(self, contexts: Iterable[str]) -> None:
        self.contexts = tuple(contexts)
        super().__init__(
            f"The log of {', '.join(self.contexts)} is being recreated by `drover log migrate`, or that was "
            "interrupted. Run `drover log migrate` again with the same archive: it goes on where it stopped. Then "
            "start the services."
        )


class Mark(msgspec.Struct, frozen=True):
    """What is known about the old stream. A run that continues an interrupted one needs it, because the old stream may
    be deleted by then."""

    id: str
    partitions: int
    replicas: int
    max_bytes: int
    metadata: dict[str, str]
    """The metadata of the old stream. The fields above are its number of partitions, its number of replicas, and its
    limit in bytes (-1: none)."""
    since: datetime
    """When the first run began."""
    keep_since: datetime | None = None
    """Commits before this time stay in the archive only. None: all commits are written back into the stream."""
    archived: tuple[int, str] | None = None
    """Sequence and id of the last archived commit. None until the whole stream is in the archive."""


async def read_marks(client: Client) -> dict[str, Mark]:
    """Return the marks of all contexts, by context."""
    try:
        info = await client.jetstream().stream_info(_STREAM)
    except NotFoundError:
        return {}
    return {
        name.removeprefix(_KEY): msgspec.json.decode(text, type=Mark)
        for name, text in (info.config.metadata or {}).items()
        if name.startswith(_KEY)
    }


async def put_mark(client: Client, context: str, mark: Mark) -> None:
    await ensure_bucket(client, BUCKET, replicas=mark.replicas)
    await _set(client, context, msgspec.json.encode(mark).decode())


async def remove_mark(client: Client, context: str) -> None:
    await _set(client, context, None)


async def _set(client: Client, context: str, text: str | None) -> None:
    jetstream = client.jetstream()
    config = (await jetstream.stream_info(_STREAM)).config
    metadata = {name: value for name, value in (config.metadata or {}).items() if name != _KEY + context}
    if text is not None:
        metadata[_KEY + context] = text
    await jetstream.update_stream(config.evolve(metadata=metadata))


async def refuse_half_migrated(client: Client, contexts: Iterable[str]) -> None:
    """Raise HalfMigrated if one of these contexts has a mark."""
    if found := (await read_marks(client)).keys() & set(contexts):
        raise HalfMigrated(sorted(found))
