"""A run whose work is done by a function of the library's user: starts the function, notes its progress, pauses and
ends it."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from typing import Final

import msgspec

from drover.agent.protocol import Offer, Report
from drover.agent.run import RUNNING_PCT_MAX, STEP_PCT, STEP_S, Run
from drover.agent.store import Kept
from drover.agent.work import Handler, Result, Step, Upload, Work, WorkFailed

DURATION_S_MIN: Final = 1
"""The shortest duration that is reported, in seconds."""

log = logging.getLogger(__name__)


class HandledRun(Run):
    """A run of a function. It needs a running event loop."""

    def __init__(
        self,
        offer: Offer,
        serial: str,
        handler: Handler,
        changed: Callable[[], None],
        now: float,
        upload: Upload,
        *,
        kept: Kept | None = None,
        after: HandledRun | None = None,
    ) -> None:
        """`changed`: called when there is something to note or to report, after which the session must be asked.
        `after`: the run before, whose function may still clean up."""
        super().__init__(offer, now, kept)
        self._after = after
        self._handler = handler
        self._changed = changed
        self._pct: float = self.noted_pct
        self._checkpoint = None if kept is None else kept.checkpoint
        self._work = Work(offer, serial, self._step, progress_pct=self._pct, checkpoint=self._checkpoint, upload=upload)
        self._ad_playing = self._popup_closed = False
        self._pending = False
        """Whether there is something to note before the next step is due."""
        self._outcome: Result | WorkFailed | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopped = False
        self._goes_on = asyncio.Event()
        self._earlier_s = 0.0 if kept is None else kept.worked_s
        self._since: float | None = None
        """When the work began or was resumed; None while it is paused."""

    # What the session asks

    def changes_at(self, pauses_at: float) -> float:
        if self.final is not None:
            return math.inf
        if self._pending or self._outcome is not None:
            return -math.inf
        return math.inf if self._since is None else min(self.noted_at + STEP_S, pauses_at)

    def note(self, now: float, pauses_at: float) -> None:
        self._pending = False
        if self._outcome is not None:
            self.final = self._final_report(self._outcome, now)
            self.noted_pct = self.final.progress_pct or self.noted_pct
        else:
            self.noted_pct = min(int(self._pct), RUNNING_PCT_MAX)
            self.unsaid = True
        self.noted_at = now
        if pauses_at <= now:
            self._pause(pauses_at)

    def kept(self) -> Kept:
        return msgspec.structs.replace(super().kept(), checkpoint=self._checkpoint)

    def stop(self) -> None:
        self._stopped = True
        self._pause(self.noted_at)
        if self._task is not None:
            self._task.cancel()

    @property
    def has_ended(self) -> bool:
        """Whether no function runs any more: neither of this run nor of those before it."""
        return (self._task is None or self._task.done()) and (self._after is None or self._after.has_ended)

    async def ended(self) -> None:
        """Wait until the function has ended, after `stop`, and those of the runs before it."""
        if self._task is not None:
            await asyncio.wait([self._task])
        if self._after is not None:  # this run was stopped while it waited
            await self._after.ended()

    def _resume(self, now: float) -> None:
        if self._since is not None or self._stopped or self.final is not None:
            return
        self._since = now
        self._goes_on.set()
        if self._task is None:
            self._task = asyncio.create_task(self._do(), name=f"work {self.offer.id} run {self.offer.run}")

    def _pause(self, now: float) -> None:
        if self._since is not None:
            self._earlier_s, self._since = self._seconds(now), None
        self._goes_on.clear()

    def _worked_s(self) -> float:
        return self._seconds(self.noted_at)

    def _seconds(self, now: float) -> float:
        return self._earlier_s + (0.0 if self._since is None else max(0.0, now - self._since))

    def _progress_report(self, now: float) -> Report:
        popup_closed, self._popup_closed = self._popup_closed or None, False
        return Report(
            self.offer.id,
            self.offer.run,
            "running",
            progress_pct=self.noted_pct,
            ad_playing=self._ad_playing,
            popup_closed=popup_closed,
        )

    def _final_report(self, outcome: Result | WorkFailed, now: float) -> Report:
        if isinstance(outcome, WorkFailed):
            return Report(
                self.offer.id,
                self.offer.run,
                "failed",
                error_code=outcome.code,
                error_message=outcome.message or None,
                screenshot_ref=outcome.screenshot_ref,
                activity_stack=outcome.activity_stack,
            )
        took_s = self._seconds(now) if outcome.duration_s is None else outcome.duration_s
        return Report(
            self.offer.id,
            self.offer.run,
            "completed",
            progress_pct=100,
            actual_duration_sec=max(DURATION_S_MIN, round(took_s)),
            did_like=outcome.did_like,
            did_comment=outcome.did_comment,
            did_playlist=outcome.did_playlist,
            completed_at=now,
        )

    # What the function does

    async def _do(self) -> None:
        if self._after is not None:
            await self._after.ended()  # a phone does one thing at a time
            self._after = None
        outcome = await self._call()
        if not self._stopped:
            self._outcome = outcome
            self._changed()

    async def _call(self) -> Result | WorkFailed:
        try:
            result: object = await self._handler(self._work)
        except asyncio.CancelledError as error:
            if self._stopped:
                raise
            return WorkFailed.by(error)
        except WorkFailed as failure:
            return failure
        except Exception as error:
            log.exception("%s: the work ended with an exception", self._work.serial)
            return WorkFailed.by(error)
        if result is None:
            return Result()
        if isinstance(result, Result):
            return result
        log.error("%s: the work returned %r; return None or a Result", self._work.serial, result)
        return WorkFailed.by(TypeError(f"the work returned {type(result).__name__}, not a Result"))

    async def _step(self, step: Step) -> None:
        if not self._stopped:
            self._pct = step.pct
            says = step.popup_closed or step.ad_playing != self._ad_playing
            self._ad_playing, self._popup_closed = step.ad_playing, self._popup_closed or step.popup_closed
            if step.checkpoint is not None:
                self._checkpoint = step.checkpoint
            if says or step.checkpoint is not None or abs(step.pct - self.noted_pct) >= STEP_PCT:
                self._pending = True
                self._changed()
        await asyncio.sleep(0)  # a loop without another await must not stop the heartbeats
        await self._goes_on.wait()
