"""The jobs of the simulated server: a list that behaves like the database of the real one (`disk.js`)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

JOBS_MAX: Final = 2000
"""Maximum of jobs. Beyond this the oldest ended jobs are deleted, because a demo may run for days."""
ENDED: Final = frozenset({"finished", "error"})

Job = dict[str, Any]


def now_text() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Jobs:
    """The list of jobs. As on the real server, two jobs may have the same uid: a read, change or removal by uid then
    means the latest one."""

    def __init__(self) -> None:
        self.all: list[Job] = []

    def insert(self, job: Job) -> Job:
        job["updatedAt"] = job["createdAt"] = now_text()
        self.all.append(job)
        if len(self.all) > JOBS_MAX:
            self._forget_the_oldest()
        return job

    def get(self, uid: str) -> Job | None:
        return next((job for job in reversed(self.all) if job["uid"] == uid), None)

    def update(self, uid: str, change: Mapping[str, Any]) -> Job | None:
        """Change a job. Returns it after the change; None if it does not exist."""
        job = self.get(uid)
        if job is not None:
            job.update(change, updatedAt=now_text())
        return job

    def remove(self, uid: str) -> None:
        for at in reversed(range(len(self.all))):
            if self.all[at]["uid"] == uid:
                del self.all[at]
                return

    def pick_up(self) -> Job | None:
        """Find the first waiting job, and mark the latest job with its uid as picked. Returns the marked job. If
        that is not the job that was found, the found one still waits and is found again next time."""
        waiting = next((job for job in self.all if job["state"] == "queued"), None)
        return None if waiting is None else self.update(waiting["uid"], {"state": "picked", "executor": "127.0.0.1"})

    def _forget_the_oldest(self) -> None:
        oldest = next((at for at, job in enumerate(self.all) if job["state"] in ENDED), 0)
        del self.all[oldest]
