"""The streams of the log and their required configuration: creates missing streams, refuses misconfigured ones."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

import nats.js.api as api
from nats.aio.client import Client
from nats.js.errors import NotFoundError

from drover.domain.errors import DroverError
from drover.domain.partitions import partition_names
from drover.eventlog.log import Partition
from drover.eventlog.quotas import UNLIMITED

PARTITIONS_KEY: Final = "drover_partitions"
"""The stream's metadata key with the number of partitions of its context. Without it the context has one partition."""


class StreamMisconfigured(DroverError):
    """A stream exists, but with a configuration that could lose or drop events."""

    def __init__(self, stream: str, wrong: dict[str, tuple[Any, Any]]) -> None:
        self.stream = stream
        self.wrong = wrong
        found = ", ".join(f"{name} is {_plain(is_)}, must be {_plain(must)}" for name, (is_, must) in wrong.items())
        super().__init__(
            f"The stream {stream} could lose events: {found}. Correct its configuration (`nats stream edit {stream}`), "
            "or point DROVER_NATS_URL at another server."
        )


class StreamRefused(DroverError):
    """The server cannot keep the requested number of replicas."""

    def __init__(self, replicas: int) -> None:
        self.replicas = replicas
        super().__init__(
            f"DROVER_NATS_REPLICAS={replicas}, but the NATS server is not a cluster of {replicas}. Set it to 1, or "
            "point DROVER_NATS_URL at a cluster."
        )


def _plain(value: Any) -> str:
    """Convert a value to the form that the server's configuration uses."""
    return str(value.value if isinstance(value, Enum) else value)


def _required(context: str) -> dict[str, Any]:
    return {
        "subjects": [f"evt.{context}.*"],
        "storage": api.StorageType.FILE,
        "retention": api.RetentionPolicy.LIMITS,
        "discard": api.DiscardPolicy.NEW,
        "max_age": 0,
        "max_msgs": -1,
        "max_msgs_per_subject": -1,
        "deny_delete": True,
        "deny_purge": True,
    }


async def ensure_stream(
    client: Client, context: str, *, replicas: int = 1, partitions: int = 1, max_bytes: int | None = None
) -> tuple[Partition, ...]:
    """Create the context's stream if it is missing; raise StreamMisconfigured if it could lose events.

    Returns its partitions. Their number is fixed when the stream is created; `partitions` does not change it later, and
    `max_bytes` not its limit (`quotas` does).
    """
    jetstream = client.jetstream()
    required = _required(context)
    name = context.upper()
    try:
        info = await jetstream.stream_info(name)
    except NotFoundError:
        metadata = {PARTITIONS_KEY: str(partitions)}
        info = await jetstream.add_stream(
            api.StreamConfig(
                name=name, num_replicas=replicas, metadata=metadata, max_bytes=max_bytes or UNLIMITED, **required
            )
        )
    wrong = {field: (found, must) for field, must in required.items() if (found := getattr(info.config, field)) != must}
    if wrong:
        raise StreamMisconfigured(name, wrong)
    return _partitions(context, info)


async def partitions_of(client: Client, context: str) -> tuple[Partition, ...]:
    """Return the context's partitions. Raises NotFoundError if it has no stream yet."""
    return _partitions(context, await client.jetstream().stream_info(context.upper()))


async def has_commits(client: Client, context: str) -> bool:
    """Whether a writer has ever led a partition of the context: every term begins with a commit. Raises NotFoundError
    if there is no stream."""
    return bool(await last_seq(client, context))


async def last_seq(client: Client, context: str) -> int:
    """Return the sequence of the last commit of a context, in any partition. Raises NotFoundError if there is no
    stream."""
    return (await client.jetstream().stream_info(context.upper())).state.last_seq


def _partitions(context: str, info: api.StreamInfo) -> tuple[Partition, ...]:
    count = int((info.config.metadata or {}).get(PARTITIONS_KEY, "1"))
    return tuple(Partition(context, name) for name in partition_names(count))
