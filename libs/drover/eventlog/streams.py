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


class TooFewReplicas(DroverError):
    """A stream has fewer replicas than configured: it would not survive the loss of as many nodes as expected."""

    def __init__(self, stream: str, *, found: int, wanted: int) -> None:
        self.stream, self.found, self.wanted = stream, found, wanted
        super().__init__(
            f"DROVER_NATS_REPLICAS={wanted}, but the stream {stream} has {found}: it keeps the number that it was "
            f"created with. Run `drover log replicas {wanted}`, or set DROVER_NATS_REPLICAS={found}."
        )


class PurgeDenied(DroverError):
    """Old commits are to be purged from a stream that was created to keep them for ever."""

    def __init__(self, stream: str) -> None:
        self.stream = stream
        super().__init__(
            f"DROVER_LOG_KEEP is set, but the stream {stream} refuses purges, and that cannot be changed. Stop the "
            "services and run `drover log migrate`, which recreates it, or set DROVER_LOG_KEEP=all."
        )


class CompressedReplicas(DroverError):
    """A log is compressed and has replicas. nats-server damages such a replica when its node restarts (ADR 0049)."""

    def __init__(self, stream: str, replicas: int) -> None:
        self.stream, self.replicas = stream, replicas
        super().__init__(
            f"The stream {stream} has {replicas} replicas and is compressed. nats-server damages compressed replicas "
            f"when a node restarts. Run `drover log replicas {replicas}`, which turns compression off, and then "
            "`drover verify`."
        )


def _required(context: str) -> dict[str, Any]:
    """The options without which a stream could lose events. Two options may have any value: `max_bytes`, because a full
    stream refuses new messages, and `deny_purge`, because streams from before ADR 0034 have it."""
    return {
        "subjects": [f"evt.{context}.*"],
        "storage": api.StorageType.FILE,
        "retention": api.RetentionPolicy.LIMITS,
        "discard": api.DiscardPolicy.NEW,
        "max_age": 0,
        "max_msgs": -1,
        "max_msgs_per_subject": -1,
        "deny_delete": True,
        # A message with a rollup header would remove other messages.
        "allow_rollup_hdrs": False,
        "allow_msg_ttl": False,
    }


def _config(context: str, *, replicas: int, partitions: int, max_bytes: int) -> api.StreamConfig:
    return api.StreamConfig(
        name=context.upper(),
        num_replicas=replicas,
        metadata={PARTITIONS_KEY: str(partitions)},
        compression=api.StoreCompression.S2 if replicas == 1 else api.StoreCompression.NONE,
        max_bytes=max_bytes,
        **_required(context),
    )


async def ensure_stream(
    client: Client,
    context: str,
    *,
    replicas: int = 1,
    partitions: int = 1,
    purges: bool = False,
    first_seq: int = 1,
    max_bytes: int | None = None,
) -> tuple[Partition, ...]:
    """Create the context's stream if it is missing, and return its partitions.

    - `partitions`, `max_bytes`: of a new stream. An existing one keeps its number of partitions for ever, and its limit
      until `quotas` changes it.
    - `first_seq`: the sequence of the first message of a new stream. It is more than 1 if the commits before it are in
      an archive only.
    - `purges`: whether old commits will be purged from the stream.

    Raises StreamMisconfigured if the stream could lose events, TooFewReplicas, CompressedReplicas, or PurgeDenied if it
    is to be purged but does not allow that.
    """
    jetstream = client.jetstream()
    try:
        info = await jetstream.stream_info(context.upper())
    except NotFoundError:
        config = _config(context, replicas=replicas, partitions=partitions, max_bytes=max_bytes or UNLIMITED)
        if first_seq > 1:
            config = config.evolve(first_seq=first_seq)
        info = await jetstream.add_stream(config)
    _check(context, info.config, replicas=replicas, purges=purges)
    return _partitions(context, info)


def _check(context: str, config: api.StreamConfig, *, replicas: int, purges: bool) -> None:
    name = context.upper()
    wrong = {
        option: (found, must)
        for option, must in _required(context).items()
        # An option that is off may be missing in the server's answer.
        if (found := getattr(config, option)) != must and not (must is False and found is None)
    }
    if wrong:
        raise StreamMisconfigured(name, wrong)
    refuse_too_few(config, replicas)
    if is_damageable(config):
        raise CompressedReplicas(name, config.num_replicas or 1)
    if purges and config.deny_purge:
        raise PurgeDenied(name)


def is_damageable(config: api.StreamConfig) -> bool:
    """Whether a restart of a node can damage its replica of the stream."""
    return (config.num_replicas or 1) > 1 and config.compression == api.StoreCompression.S2


def refuse_too_few(config: api.StreamConfig, replicas: int) -> None:
    """Raise TooFewReplicas if a stream has fewer replicas than this."""
    if (found := config.num_replicas or 1) < replicas:
        raise TooFewReplicas(str(config.name), found=found, wanted=replicas)


async def partitions_of(client: Client, context: str) -> tuple[Partition, ...]:
    """Return the context's partitions. Raises NotFoundError if it has no stream yet."""
    return _partitions(context, await client.jetstream().stream_info(context.upper()))


async def has_commits(client: Client, context: str) -> bool:
    """Whether a writer has ever led a partition of the context. The stream then has commits, because every term begins
    with one. Raises NotFoundError if there is no stream."""
    return bool(await last_seq(client, context))


async def last_seq(client: Client, context: str) -> int:
    """Return the sequence of the last commit of a context, in any partition. Raises NotFoundError if there is no
    stream."""
    return (await client.jetstream().stream_info(context.upper())).state.last_seq


def _partitions(context: str, info: api.StreamInfo) -> tuple[Partition, ...]:
    count = int((info.config.metadata or {}).get(PARTITIONS_KEY, "1"))
    return tuple(Partition(context, name) for name in partition_names(count))
