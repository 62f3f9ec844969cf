"""The projector as one thing to start and stop: all projections, each over its context's partitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Final

from drover.eventlog.log import EventLog, Partition
from drover.projection.errors import ProjectionStopped
from drover.projection.projection import Projection
from drover.projection.runtime import Announce, Limits, Runner, announce_nothing
from drover.projector.analysis import ANALYSIS_PROJECTION
from drover.projector.fleet import FLEET_PROJECTION
from drover.projector.identity import IDENTITY_PROJECTION
from drover.projector.reminder import REMINDER_PROJECTION
from drover.projector.render import RENDER_PROJECTION

PROJECTIONS: Final[tuple[Projection, ...]] = (
    FLEET_PROJECTION,
    RENDER_PROJECTION,
    ANALYSIS_PROJECTION,
    IDENTITY_PROJECTION,
    REMINDER_PROJECTION,
)


class Projector:
    """Start returns at once: it neither waits for Postgres nor for the lock. Stop finishes the batches in hand.

    The platform's own tables (`drover.postgres.migrate`) must be there, or it goes on trying until they are.
    """

    def __init__(
        self,
        open_log: Callable[[Partition], EventLog],
        dsn: str,
        announce: Announce = announce_nothing,
        projections: Sequence[Projection] = PROJECTIONS,
        limits: Limits | None = None,
        partitions: Mapping[str, Sequence[Partition]] | None = None,
    ) -> None:
        """`partitions`: how contexts are divided; those that are not mentioned are not."""
        divided = partitions or {}
        self.runners = tuple(
            Runner(projection, open_log(partition), dsn, announce, limits)
            for projection in projections
            for partition in divided.get(projection.context, (Partition(projection.context),))
        )

    async def __aenter__(self) -> Projector:
        async with AsyncExitStack() as stack:
            for runner in self.runners:
                await stack.enter_async_context(runner)
            self._started = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._started.aclose()

    @property
    def stopped(self) -> list[ProjectionStopped]:
        """What stands still until a person acts. Others go on: one context's trouble is not another's."""
        return [runner.stopped for runner in self.runners if runner.stopped is not None]
