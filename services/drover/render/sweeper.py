"""The sweep: removes what ended runs left behind: temporary files on the NAS, job folders, nexrender jobs."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

import structlog

from drover.domain.errors import DroverError
from drover.domain.render.state import ENDED
from drover.nas.naming import parse_temporary
from drover.render.nexrender.errors import NexrenderDown
from drover.render.queue import Queue
from drover.render.workshop import UID_PREFIX, Workshop

SWEEP_EVERY_S: Final = 600.0
FAILURES_MAX: Final = 10
"""After this many failed removals the rest is left to the next sweep: each may take half a minute to fail."""
ID_MAX: Final = 2**53
"""Render ids are below this number. A file with this or a larger number is not ours."""
_UID: Final = re.compile(rf"{re.escape(UID_PREFIX)}([0-9]{{1,15}})-")

log = structlog.get_logger("drover.render")


async def sweep(queue: Queue, workshop: Workshop) -> int:
    """Remove all leftovers. Returns how many were removed. The NAS and the job folders are swept separately: if one is
    unreachable, the other is still swept."""
    removed = 0
    for part in (_sweep_nas, _sweep_jobs):
        try:
            removed += await part(queue, workshop)
        except DroverError as error:
            log.warning("sweep_failed", error=str(error))
    return removed


async def _sweep_nas(queue: Queue, workshop: Workshop) -> int:
    """Remove temporary files of ended runs. List the files first, then read the status of their renders: files that are
    added in between belong to a later run."""
    owners = {path: owner for path in await workshop.nas.temporaries() if (owner := _owner(path))}
    standing = await queue.standing(sorted({render_id for render_id, _ in owners.values()}))
    removed = failed = 0
    for path, (render_id, run) in owners.items():
        now = standing.get(render_id)
        if now is not None and now.status not in ENDED and run >= now.run:
            continue
        try:
            await workshop.nas.remove(path)
        except (DroverError, ValueError) as error:
            log.warning("orphan_not_removed", path=str(path), job=render_id, run=run, error=str(error))
            failed += 1
            if failed >= FAILURES_MAX:
                break
            continue
        log.info("orphan_removed", path=str(path), job=render_id, run=run)
        removed += 1
    return removed


def _owner(path: PurePosixPath) -> tuple[int, int] | None:
    owner = parse_temporary(path.name)
    return owner if owner is not None and owner[0] < ID_MAX else None


async def _sweep_jobs(queue: Queue, workshop: Workshop) -> int:
    folders = await workshop.aside(workshop.folders.jobs)
    ids = {path.name: int(match[1]) for path in folders if (match := _UID.match(path.name))}
    standing = await queue.standing(sorted(set(ids.values())))
    removed = 0
    for uid, render_id in ids.items():
        now = standing.get(render_id)
        if now is None or now.status in ENDED or now.uid != uid:
            await _remove_job(workshop, uid)
            await workshop.discard(uid)
            removed += 1
    return removed


async def _remove_job(workshop: Workshop, uid: str) -> None:
    """Remove the nexrender job of a job folder. The folder is made before the job is submitted, so this also finds a
    job that was submitted and never reported."""
    try:
        await workshop.nexrender.remove(uid)
    except NexrenderDown:
        raise
    except DroverError as error:
        log.warning("job_not_removed", uid=uid, error=str(error))
