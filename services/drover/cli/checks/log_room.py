"""Checks how full the logs are. Changes nothing."""

from __future__ import annotations

from typing import Final

from drover.cli.checks.finding import Finding, Scene, fail, ok, skipped, warn
from drover.domain.contexts import CONTEXTS
from drover.domain.errors import DroverError
from drover.eventlog.quotas import ALMOST_FULL, FILLING, LogSize, QuotaRefused, log_size

_REMEDY: Final = (
    "At its limit a log is read-only. Raise the limit (`nats stream edit`, or DROVER_LOG_MAX with `drover up`), let "
    "DROVER_LOG_KEEP move old events to the archive, or give NATS a larger disk."
)


async def logs_have_room(scene: Scene) -> Finding:
    if isinstance(scene.nats, DroverError):
        return skipped("NATS was not reached")
    try:
        sizes = {context: await log_size(scene.nats, context) for context in CONTEXTS}
    except QuotaRefused:
        return skipped("there are no logs yet", "The first start of the services creates them.")
    return finding_of(sizes)


def finding_of(sizes: dict[str, LogSize]) -> Finding:
    shares = {context: size.share for context, size in sizes.items() if size.share is not None}
    if not shares:
        return ok("the logs have no limit but the disk")
    found = ", ".join(f"{context} {share:.0%}" for context, share in shares.items()) + " of their limits"
    fullest = max(shares.values())
    if fullest > ALMOST_FULL:
        return fail(found, _REMEDY)
    return warn(found, _REMEDY) if fullest > FILLING else ok(found)
