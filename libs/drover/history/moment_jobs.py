"""Computes states at past moments that are far from every checkpoint: in the background, with progress, for as long as
somebody asks for them. Jobs are in memory: after a restart, the next question starts the job again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final

import msgspec
import structlog

from drover.history.travel import MomentTooFar, TimeTraveller, TooManyTravellers
from drover.service.tasks import end

JOBS_MAX: Final = 2
ASKED_WITHIN_S: Final = 30.0
"""A job that nobody has asked about for this many seconds ends."""

Question = Callable[..., bytes]
_Key = tuple[str, datetime, Question]

log = structlog.get_logger("drover.history")


class MomentProgress(msgspec.Struct, frozen=True):
    """How far the computation of a past moment is. Ask again: once the computation is done, the same request returns
    the moment itself."""

    context: str
    at: datetime
    done: int
    """How many commits of the log have been applied."""
    of: int
    """How many commits there are to apply. 0: not known yet."""


class _Unasked(Exception):
    """Raised inside a job that nobody asks about any more."""


class _Job:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.done = self.of = 0
        self.task: asyncio.Task[bytes | None] | None = None
        self.is_asked()

    def is_asked(self) -> None:
        self._asked_at = self._clock()

    def tell(self, done: int, of: int) -> None:
        self.done, self.of = done, of
        if self._clock() - self._asked_at > ASKED_WITHIN_S:
            raise _Unasked


class MomentJobs:
    """Answers questions about the past at once if a checkpoint is near, otherwise by a job."""

    def __init__(self, traveller: TimeTraveller, clock: Callable[[], float] = time.monotonic) -> None:
        self._traveller = traveller
        self._clock = clock
        self._jobs: dict[_Key, _Job] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[MomentJobs]:
        async with self._traveller.running():
            try:
                yield self
            finally:
                await end(*(job.task for job in self._jobs.values() if job.task is not None))

    async def ask(self, context: str, at: datetime, question: Question) -> bytes | MomentProgress:
        """Return `question(state, at)` for the state at that time, or how far the computation is. Raises MomentNotYet
        or TooManyTravellers."""
        key = (context, at, question)
        if (job := self._jobs.get(key)) is None:
            try:
                return await self._traveller.ask(context, at, question)
            except MomentTooFar:
                job = self._jobs.get(key) or self._start(key)
        job.is_asked()
        assert job.task is not None
        if job.task.done():
            del self._jobs[key]
            if (found := job.task.result()) is not None:
                return found
        return MomentProgress(context, at, job.done, job.of)

    def _start(self, key: _Key) -> _Job:
        self._forget_ended()
        if len(self._jobs) >= JOBS_MAX:
            raise TooManyTravellers
        context, at, _ = key
        job = self._jobs[key] = _Job(self._clock)
        job.task = asyncio.create_task(self._work(key, job), name=f"{context} at {at.isoformat()}")
        log.info("moment_job_started", context=context, at=at.isoformat())
        return job

    async def _work(self, key: _Key, job: _Job) -> bytes | None:
        """Compute the answer. Return None if nobody asks for it any more."""
        context, at, question = key
        try:
            return await self._traveller.ask_far(context, at, question, (), job.tell)
        except _Unasked:
            log.info("moment_job_unasked", context=context, at=at.isoformat(), done=job.done, of=job.of)
            return None

    def _forget_ended(self) -> None:
        """Forget jobs that have ended and whose result nobody took. The traveller has the answer in its cache."""
        for key, job in [*self._jobs.items()]:
            if job.task is not None and job.task.done():
                job.task.cancelled() or job.task.exception()  # look at the exception, or asyncio logs that nobody did
                del self._jobs[key]

    async def cancel(self, context: str, at: datetime, question: Question) -> bool:
        """Cancel the job. Return False if there is none."""
        job = self._jobs.pop((context, at, question), None)
        if job is None or job.task is None:
            return False
        await end(job.task)
        return True
