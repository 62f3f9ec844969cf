"""The replicas of streams: how many each stream has, whether they are up to date, and how to change their number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec
import nats.js.api as api
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import NotFoundError

from drover.domain.errors import DroverError
from drover.eventlog.streams import is_damageable
from drover.service.reasons import reason_of

REQUEST_S: Final = 10.0
NOT_CLUSTERED: Final = 10074
"""The NATS error code when several replicas are requested from a single server."""
NO_SUITABLE_PEERS: Final = 10005
"""The NATS error code when the cluster has fewer nodes than replicas are requested."""


class TooFewNodes(DroverError):
    """The NATS cluster has fewer nodes than replicas were requested."""

    def __init__(self, replicas: int, reason: str) -> None:
        self.replicas, self.reason = replicas, reason
        super().__init__(
            f"NATS cannot keep {replicas} replicas ({reason}), so nothing was changed. Start {replicas} nodes as one "
            "cluster first; docs/deployment.md says how."
        )


class ReplicasUnchanged(DroverError):
    """NATS did not change the number of replicas of a stream."""

    def __init__(self, stream: str, reason: str) -> None:
        self.stream, self.reason = stream, reason
        super().__init__(
            f"The number of replicas of {stream} was not changed ({reason}). Only the NATS user `restore` may change "
            "streams: DROVER_NATS_URL must name it. Run the command again to continue."
        )


class Copies(msgspec.Struct, frozen=True):
    """The replicas of one stream."""

    stream: str
    wanted: int
    """How many replicas the stream is configured to have."""
    away: tuple[str, ...] = ()
    """Nodes that hold a replica and do not answer."""
    lagging: tuple[str, ...] = ()
    """Nodes whose replica is not up to date."""
    lag: int = 0
    """How many messages all replicas together still lack."""
    found: int = 1
    """How many nodes hold a replica."""
    damageable: bool = False
    """Whether a restart of a node can damage its replica, because the stream is compressed and has several replicas
    (ADR 0049)."""

    @property
    def are_current(self) -> bool:
        return self.found >= self.wanted and not self.away and not self.lagging


def copies_in(info: api.StreamInfo) -> Copies:
    peers = (info.cluster.replicas if info.cluster else None) or []
    return Copies(
        stream=str(info.config.name),
        wanted=info.config.num_replicas or 1,
        away=tuple(str(peer.name) for peer in peers if peer.offline),
        lagging=tuple(str(peer.name) for peer in peers if not peer.offline and not peer.current),
        lag=sum(peer.lag or 0 for peer in peers),
        found=1 + len(peers),
        damageable=is_damageable(info.config),
    )


async def copies_of(client: Client, streams: Iterable[str]) -> list[Copies]:
    """Return the state of the replicas of each of these streams. Streams that do not exist are left out."""
    jetstream = client.jetstream(timeout=REQUEST_S)
    found = []
    for name in streams:
        try:
            found.append(copies_in(await jetstream.stream_info(name)))
        except NotFoundError:
            continue
    return found


async def set_copies(client: Client, stream: str, replicas: int) -> None:
    """Change how many replicas a stream has. With more than one, its compression is switched off (ADR 0049). Returns
    before the replicas are up to date. Raises TooFewNodes or ReplicasUnchanged."""
    info = await _request(client, stream, "INFO", b"")
    # Change the configuration as the server gave it, because nats-py's `StreamConfig` would drop options that it does
    # not know.
    config = info["config"] | {"num_replicas": replicas}
    if replicas > 1:
        config["compression"] = "none"
    await _request(client, stream, "UPDATE", msgspec.json.encode(config), replicas)


async def _request(client: Client, stream: str, verb: str, body: bytes, replicas: int = 0) -> dict[str, Any]:
    try:
        reply = await client.request(f"$JS.API.STREAM.{verb}.{stream}", body, timeout=REQUEST_S)
    except (NatsError, OSError) as failure:
        raise ReplicasUnchanged(stream, reason_of(failure)) from failure
    answer = msgspec.json.decode(reply.data, type=dict[str, Any])
    if (error := answer.get("error")) is not None:
        if error.get("err_code") in (NOT_CLUSTERED, NO_SUITABLE_PEERS):
            raise TooFewNodes(replicas, error["description"])
        raise ReplicasUnchanged(stream, error["description"])
    return answer
