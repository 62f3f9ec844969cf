"""Checks that every stream has the configured number of replicas, and that all are up to date. Changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from drover.cli.checks.finding import Finding, Scene, fail, ok, skipped, warn
from drover.cli.log_replicas import STREAMS
from drover.domain.errors import DroverError
from drover.eventlog.copies import Copies, copies_of


async def streams_are_copied(scene: Scene) -> Finding:
    if isinstance(scene.nats, DroverError):
        return skipped("NATS was not reached")
    found = await copies_of(scene.nats, STREAMS)
    if not found:
        return skipped("there are no streams yet", "The first start of the services creates them.")
    asked = scene.environ.get("DROVER_NATS_REPLICAS", "")
    return judged(found, int(asked) if asked.isdecimal() else 1)


def judged(streams: Sequence[Copies], asked: int) -> Finding:
    """Return the worst finding about any of the streams."""
    few = [copies.stream for copies in streams if copies.wanted < asked]
    if few:
        return fail(
            f"{asked} replicas are configured, and {', '.join(few)} has fewer",
            f"Streams keep the number they were created with: run `drover log replicas {asked}`.",
        )
    ill = [said for copies in streams for said in _ill(copies)]
    if ill:
        return warn(
            "; ".join(ill),
            "Nothing is lost, but with one node less nothing can be written: start it again, or wait until it has "
            "caught up.",
        )
    least = min(copies.wanted for copies in streams)
    return ok(f"{least} of every stream, all current" if least > 1 else "one of every stream: on one server")


def _ill(copies: Copies) -> list[str]:
    """List the problems that a stream's leader reports about its replicas."""
    away = [f"{copies.stream}: {node} is away" for node in copies.away]
    late = [f"{copies.stream}: {node} lags behind" for node in copies.lagging]
    missing = copies.wanted - copies.found
    return away + late + ([f"{copies.stream}: {missing} replicas have no node yet"] if missing > 0 else [])
