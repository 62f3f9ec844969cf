"""The simplified API of nexrender in 003, for a simulated server: what users of that document run."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, Final

from drover.simulator.nexrender.apis import Answer, decoded
from drover.simulator.nexrender.output_folder import COPY
from drover.simulator.nexrender.store import Job, Jobs
from drover.simulator.nexrender.validation import complaint, complete

STATUSES: Final = {
    "created": "queued",
    "queued": "queued",
    "render:postrender": "encoding",
    "render:cleanup": "encoding",
    "finished": "finished",
    "error": "error",
}
"""By the states of the real one; all other states are `rendering`."""


class SimplifiedApi:
    """Answers as in 003 §3.5. It gives jobs ids of its own and returns only the fields of that document.

    003 defines neither a list of jobs nor their removal; a server with `lists=False` has no list.
    """

    def __init__(self, jobs: Jobs, new_work: Callable[[], None], *, lists: bool = True) -> None:
        self._jobs = jobs
        self._new_work = new_work
        self._lists = lists
        self._numbers = count(1)

    def answer(self, method: str, path: tuple[str, ...], body: bytes) -> Answer:
        match method, path:
            case "POST", ("jobs",):
                return self._create(body)
            case "GET", ("jobs",) if self._lists:
                return Answer(200, [{**_shown(job), **job["named"], "tags": job["tags"]} for job in self._jobs.all])
            case "GET", ("jobs", id) if (job := self._jobs.get(id)) is not None:
                return Answer(200, _shown(job))
            case "DELETE", ("jobs", id) if self._jobs.get(id) is not None:
                self._jobs.remove(id)
                return Answer(200, {"id": id, "status": "cancelled"})
        return Answer(404, {"error": "Not found"})

    def _create(self, body: bytes) -> Answer:
        given = decoded(body)
        if isinstance(given, Answer):
            return given
        number = next(self._numbers)
        named = {"id": f"job_{number:06x}", "uid": f"uid_{number:06x}"}
        job = {**complete(given, named["id"]), "uid": named["id"], "named": named, "state": "queued"}
        if not isinstance(job["actions"], list) or complaint({**job, "actions": {}}) is not None:
            return Answer(400, {"error": "template, assets and a list of actions are needed"})
        # The file lands at the job's `output`. The machines know that as a copy, as real nexrender does.
        job["actions"] = {"postrender": [{"module": COPY, "input": "result.mp4", "output": job.pop("output")}]}
        self._jobs.insert(job)
        self._new_work()
        return Answer(200, {**named, "status": "queued", "created": job["createdAt"]})


def _shown(job: Job) -> dict[str, Any]:
    shown = {
        "id": job["uid"],
        "status": STATUSES.get(job["state"], "rendering"),
        "progress": job.get("renderProgress") or 0,
        "updated": job["updatedAt"],
    }
    return {**shown, "error": job["error"]} if job.get("error") else shown
