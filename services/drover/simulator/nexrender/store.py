"""What the simulated server remembers: a list of jobs, with the habits of the real one's database (`disk.js`)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

JOBS_MAX: Final = 2000
"""Beyond it the oldest that have ended are forgotten: a demo may run for days."""
ENDED: Final = frozenset({"finished", "error"})

Job = dict[str, Any]


def now_text() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Jobs:
    """The same uid can be there twice. Then the latest is found, changed and removed, and the first is picked up."""

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
        """The job after the change, or None where it is not there (any more)."""
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
        """The first that waits goes to a worker. It is marked by its uid, so of two the latest is marked, and the first
        is picked up again and again."""
        waiting = next((job for job in self.all if job["state"] == "queued"), None)
        return None if waiting is None else self.update(waiting["uid"], {"state": "picked", "executor": "127.0.0.1"})

    def forget(self) -> None:
        self.all.clear()

    def _forget_the_oldest(self) -> None:
        oldest = next((at for at, job in enumerate(self.all) if job["state"] in ENDED), 0)
        del self.all[oldest]
