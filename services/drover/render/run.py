"""One run: one worker's work on a render, from its claim to its end. The queue decides about retries."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, Protocol, TypeVar

import structlog
from uuid_utils import uuid7

from drover.domain.errors import DroverError
from drover.domain.render.state import Status
from drover.nas.store import TooLate
from drover.render.delivery import deliver
from drover.render.faults import ImageMissing, RenderError, RenderLost, TemplateMissing, fault_of
from drover.render.lease import Lease
from drover.render.nexrender.client import RemoteJob
from drover.render.nexrender.errors import NexrenderDown
from drover.render.nexrender.states import Stage, is_missing
from drover.render.preparation import Prepared, prepare
from drover.render.queue import Claimed, Details, Overtaken, Queue, patiently
from drover.render.submission import Submission
from drover.render.workshop import Workshop

BLINKS_MAX: Final = 3
"""How many status requests in a row must fail to be a fault: enough to bridge a restart of nexrender."""
UNMAPPED_MAX: Final = 200

T = TypeVar("T")


class RunOver(DroverError):
    """The queue ended the run: the render failed, or the next worker that claims it renders it again."""


class Progress(Protocol):
    """A listener for the progress of a run."""

    def __call__(self, progress: int) -> None: ...


class Run:
    def __init__(
        self, queue: Queue, workshop: Workshop, claimed: Claimed, progress: Progress, *, asked_at: float
    ) -> None:
        """`asked_at`: the time of the workshop's clock `elapsed` just before the claim was sent."""
        self._queue = queue
        self._workshop = workshop
        self.claimed = claimed
        self._note_progress = progress
        self._status: str = Status.PREPARING
        self._progress = 0
        self._prepared: Prepared | None = None
        self.duration_s: float | None = None
        """Seconds from the render's `started_at` to its completion, if the queue reported them."""
        self._regained = False
        """Whether the run goes on after a fault, and the queue has not been told so yet."""
        self._log = structlog.get_logger("drover.render").bind(
            worker=queue.worker_id, job=claimed.render_id, run=claimed.run
        )
        self._lease = Lease(queue, workshop, claimed, asked_at, self._log)
        self.submission = Submission(queue, workshop, self._lease, self._log)
        self.overtaken: Overtaken | None = None

    def look(self) -> None:
        """Check at once whether this run still holds its render: a commit may have changed that."""
        self._lease.look()

    async def work(self) -> bool:
        """Run to the end; returns whether the render was completed. Expected failures are not raised."""
        try:
            async with asyncio.TaskGroup() as group:
                guard = group.create_task(self._lease.guard(), name="render-lease")
                done = await self._work()
                guard.cancel()
                return done
        except* Overtaken as found:
            error = found.exceptions[0]
            assert isinstance(error, Overtaken)
            self.overtaken = error
        except* RunOver:
            pass
        _stay_cancelled()
        if self.overtaken is not None:
            await self._let_go(self.overtaken)
        return False

    async def _let_go(self, overtaken: Overtaken) -> None:
        self._log.warning("run_overtaken", status=overtaken.status, current_run=overtaken.current_run)
        if overtaken.status != Status.CANCELLED:
            # Send a report although it will be refused: the refusal records that this worker was too late.
            with suppress(DroverError):
                await self._queue.hand_back(self.claimed)
        await self.submission.take_back()

    async def _work(self) -> bool:
        details = await self._patiently(self._details)
        self._prepared = prepared = await self._step(lambda: self._prepare(details))
        if prepared.unmapped:
            self._log.warning("fields_unmapped", fields=prepared.unmapped[:20])
            fields = _some(prepared.unmapped)
            await self._patiently(lambda: self._queue.unmapped(self.claimed, fields))
        job = await self._step(lambda: self._submit(details, prepared))
        await self._follow(job, prepared)
        self._went("uploading", 100)
        await self._patiently(lambda: self._queue.rendered(self.claimed))
        await self._hand_over(details)
        await self._tidy_up(details.uid, job.uid)
        return True

    async def _details(self) -> Details:
        details = await self._queue.details(self.claimed.render_id)
        if details.run != self.claimed.run:
            raise Overtaken(details.render_id, self.claimed.run, details.status, details.run)
        return details

    async def _prepare(self, details: Details) -> Prepared:
        workshop = self._workshop
        composition = await workshop.compositions.get(self._queue, details.composition_id, details.mapping_version)
        gfx_data = await self._patiently(lambda: workshop.gfx_data.open(details.gfx_id, details.gfx_data))
        prepared = prepare(workshop, details, composition, gfx_data)
        if await workshop.is_missing(prepared.template):
            raise TemplateMissing(f"Template not found: {prepared.template}")
        if missing := await workshop.missing_images(prepared.images):
            raise ImageMissing(missing, workshop.folders.images)
        self._log.debug("job_prepared", composition=details.composition, template=prepared.template)
        return prepared

    async def _submit(self, details: Details, prepared: Prepared) -> RemoteJob:
        job = await self.submission.find(details)
        found = job is not None
        if job is None:
            job = await self.submission.submit(details, prepared.document)
        self._log.debug("nexrender_called", uid=job.uid, found=found, state=job.state)
        remote = job
        await self._patiently(lambda: self._queue.submitted(self.claimed, remote.uid, found=found))
        self.submission.told()
        self._went("rendering", job.progress or 0)
        return job

    async def _follow(self, job: RemoteJob, prepared: Prepared) -> None:
        """Poll until nexrender reports `finished`. Do not rely on progress: it can stay at 90."""
        blinks = 0
        while job.stage is not Stage.FINISHED:
            if job.stage is Stage.ERROR:
                await self._fault(_error(job, prepared, self._workshop.folders.images))
            await self._tell(job)
            await asyncio.sleep(self._workshop.follow_s)
            try:
                job = await self._seen(job)
                blinks = 0
            except NexrenderDown as error:
                blinks += 1
                if blinks >= BLINKS_MAX:
                    await self._fault(error)
                    blinks, self._regained = 0, True
            except DroverError as error:
                await self._fault(error)
                self._regained = True

    async def _seen(self, job: RemoteJob) -> RemoteJob:
        seen = await self._workshop.nexrender.find(job.uid)
        if seen is None:
            raise RenderLost(f"nexrender no longer knows the job {job.uid}")
        return seen

    async def _tell(self, job: RemoteJob) -> None:
        encoding = job.stage is Stage.ENCODING
        progress = self._progress if job.progress is None else max(self._progress, job.progress)
        news = progress != self._progress or (encoding and self._status == "rendering")
        if news or self._regained:
            await self._patiently(lambda: self._queue.progress(self.claimed, progress, encoding=encoding))
            self._regained = False
        self._went("encoding" if encoding else "rendering", progress)

    async def _hand_over(self, details: Details) -> None:
        workshop = self._workshop
        output = workshop.folders.output_of(details.uid, details.render_id)
        facts = await self._step(lambda: workshop.validate(output))

        async def to_nas() -> tuple[str, int, str]:
            digest = await workshop.digest(output)
            path = await deliver(workshop.nas, output, digest, details, self.claimed.run, hold=self._lease.fence)
            return path, digest.size_bytes, digest.sha256

        path, size_bytes, sha256 = await self._step(to_nas)
        self._log.info("file_copied", path=path, size_bytes=size_bytes)
        await self._lease.last_word.acquire()  # never released: from now on the guard cannot end the run
        self.duration_s = await self._patiently(
            lambda: self._queue.completed(
                self.claimed,
                path=path,
                size_bytes=size_bytes,
                sha256=sha256,
                codec=facts.codec,
                width=facts.width,
                height=facts.height,
            )
        )
        self._went("completed", 100)

    async def _tidy_up(self, uid: str, job_id: str) -> None:
        """Remove the job at nexrender, which has gfx_data in clear text, and then its folder. While nexrender is
        unreachable the folder stays, so that a sweep finds the job."""
        try:
            await self._workshop.nexrender.remove(job_id)
        except NexrenderDown as error:
            self._log.warning("job_not_removed", uid=uid, error=str(error))
            return
        except DroverError as error:  # some servers cannot remove jobs
            self._log.info("job_not_removed", uid=uid, error=str(error))
        await self._workshop.discard(uid)

    async def _step(self, action: Callable[[], Awaitable[T]]) -> T:
        """Do one step of the run, and retry it as often as the queue allows."""
        while True:
            try:
                return await self._patiently(action)
            except TooLate as error:
                self._log.warning("step_again", error=str(error))
            except DroverError as error:
                if fault_of(error) is None:
                    raise
                await self._fault(error)

    async def _fault(self, error: DroverError) -> None:
        """Report an error to the queue, as the fault that it means. Returns when it is time to retry; raises RunOver if
        there is no retry."""
        fault = fault_of(error)
        if fault is None:
            raise error
        text = str(error) if self._prepared is None else self._prepared.hidden_in(str(error))
        report_id = str(uuid7())  # repeats of this report count as one fault
        async with self._lease.last_word:
            verdict = await self._patiently(lambda: self._queue.fault(self.claimed, fault, text, report_id))
            if verdict.again == "render":
                self._log.warning("render_again", fault=fault, error=text)
            elif verdict.again is None:
                self._log.error("render_failed", fault=fault, error=text)
            if verdict.again != "step":
                raise RunOver(text) from error
        self._log.warning("retry", fault=fault, error=text, after_s=verdict.delay_s)
        await asyncio.sleep(verdict.delay_s)
        self._log.info("retry_started", fault=fault)

    async def _patiently(self, action: Callable[[], Awaitable[T]]) -> T:
        return await patiently(action, self._log)

    def _went(self, status: str, progress: int) -> None:
        if status != self._status:
            self._log.info("status", change=f"{self._status} → {status}", progress=progress)
        news = (status, progress) != (self._status, self._progress)
        self._status, self._progress = status, progress
        if news:
            self._note_progress(progress)


def _error(job: RemoteJob, prepared: Prepared, images: str) -> DroverError:
    text = job.error or "nexrender reports an error without a message"
    if is_missing(text, prepared.template):
        return TemplateMissing(f"Template not found: {prepared.template}")
    if missing := [image for image in prepared.images if is_missing(text, image)]:
        return ImageMissing(missing, images)
    return RenderError(text)


def _some(fields: list[str]) -> list[str]:
    """Shorten a list of fields to what a row shows. If some are left out, the last entry gives their number."""
    if len(fields) <= UNMAPPED_MAX:
        return fields
    return [*fields[: UNMAPPED_MAX - 1], f"… and {len(fields) - UNMAPPED_MAX + 1} more"]


def _stay_cancelled() -> None:
    """Raise a pending cancellation: a task group with failed tasks raises their errors instead of it."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
