"""Checks that every stream has the configured number of replicas, and that all are up to date. Changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import nats.js.api as api
from nats.js.errors import NotFoundError

from drover.cli.checks.finding import Finding, Scene, fail, ok, skipped, warn
from drover.domain.contexts import CONTEXTS
from drover.domain.errors import DroverError
from drover.eventlog import snapshots
from drover.eventlog.bucket import NOTIFIER_BUCKET
from drover.eventlog.log import Partition
from drover.writer.nats_lease import BUCKET

STREAMS: Final = (*(Partition(context).stream for context in CONTEXTS), f"KV_{BUCKET}", snapshots.STREAM)


async def streams_are_copied(scene: Scene) -> Finding:
    if isinstance(scene.nats, DroverError):
        return skipped("NATS was not reached")
    jetstream = scene.nats.jetstream()
    try:
        infos = [await jetstream.stream_info(name) for name in STREAMS]
    except NotFoundError:
        return skipped("not all streams exist yet", "The first start of the services creates them.")
    with suppress(NotFoundError):  # only where alerts are sent
        infos.append(await jetstream.stream_info(f"KV_{NOTIFIER_BUCKET}"))
    asked = scene.environ.get("DROVER_NATS_REPLICAS", "")
    return judged(infos, int(asked) if asked.isdecimal() else 1)


def judged(infos: Sequence[api.StreamInfo], asked: int) -> Finding:
    """Return the worst finding about any of the streams."""
    few = [info.config.name for info in infos if (info.config.num_replicas or 1) < asked]
    if few:
        return fail(
            f"{asked} replicas are configured, and {', '.join(map(str, few))} has fewer",
            f"Streams keep the number they were created with: run `drover log replicas {asked}`.",
        )
    ill = [said for info in infos for said in _ill(info)]
    if ill:
        return warn(
            "; ".join(ill),
            "Nothing is lost, but with one node less nothing can be written: start it again, or wait until it has "
            "caught up.",
        )
    copies = min(info.config.num_replicas or 1 for info in infos)
    return ok(f"{copies} of every stream, all current" if copies > 1 else "one of every stream: on one server")


def _ill(info: api.StreamInfo) -> list[str]:
    """List the problems that a stream's leader reports about its replicas."""
    replicas = (info.cluster.replicas if info.cluster else None) or []
    name = info.config.name
    away = [f"{name}: {peer.name} is away" for peer in replicas if peer.offline]
    return away + [f"{name}: {peer.name} lags behind" for peer in replicas if not peer.offline and not peer.current]
