"""Answers the requests to the simulated nexrender. No HTTP, no clock, no faults; the only state is the jobs."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from drover.simulator.nexrender.store import Job, Jobs
from drover.simulator.nexrender.validation import complaint, complete

_LOST_IN_TAGS: Final = re.compile(r"[^A-Za-z0-9, ]")


class Answer(NamedTuple):
    status: int
    body: Any = None
    """The body. None: empty. A text is sent as it is, any other value as JSON."""


INVALID_JSON: Final = Answer(400, "Invalid JSON")
BROKEN: Final = Answer(500, "Internal Server Error")


class Api(Protocol):
    def answer(self, method: str, path: tuple[str, ...], body: bytes) -> Answer:
        """Answer a request. `path`: the part of its path after /api/v1."""
        ...


class RealApi:
    """Answers like `@nexrender/server`, including its quirks (see the contract tests)."""

    def __init__(self, jobs: Jobs, new_work: Callable[[], None]) -> None:
        self._jobs = jobs
        self._new_work = new_work
        self._numbers = count(1)

    def answer(self, method: str, path: tuple[str, ...], body: bytes) -> Answer:
        match method, path:
            case "POST", ("jobs",):
                return self._create(body)
            case "GET", ("jobs",):
                return Answer(200, self._jobs.all)
            case "GET", ("jobs", "status"):
                return Answer(200, [_status(job) for job in self._jobs.all])
            case "GET", ("jobs", "pickup"):
                return Answer(200, self._jobs.pick_up() or {})
            case "GET", ("jobs", uid, "status"):
                job = self._jobs.get(uid)
                return BROKEN if job is None else Answer(200, _status(job))
            case "GET", ("jobs", uid):
                return Answer(200, self._jobs.get(uid))  # 200 with an empty body for an unknown job
            case "PUT", ("jobs", uid):
                return self._change(uid, body)
            case "DELETE", ("jobs", uid):
                self._jobs.remove(uid)
                return Answer(200, {"id": uid, "removed": True})  # even if it was not there
        return Answer(204)

    def _create(self, body: bytes) -> Answer:
        given = decoded(body)
        if isinstance(given, Answer):
            return given
        if isinstance(tags := given.get("tags"), str):
            given["tags"] = _LOST_IN_TAGS.sub("", tags)
        job = complete(given, f"simulated-{next(self._numbers)}")
        job["state"], job["creator"] = "queued", "127.0.0.1"
        if (trace := complaint(job)) is not None:
            return Answer(400, trace)
        self._jobs.insert(job)  # even if one with that uid exists
        self._new_work()
        return Answer(200, job)

    def _change(self, uid: str, body: bytes) -> Answer:
        change = decoded(body)
        if isinstance(change, Answer):
            return change
        if (trace := complaint({**(self._jobs.get(uid) or {}), **change})) is not None:
            return Answer(400, trace)
        job = self._jobs.update(uid, change)
        self._new_work()  # it may be queued again
        return Answer(200, job)


def _status(job: Job) -> dict[str, Any]:
    return {
        "uid": job["uid"],
        "state": job["state"],
        "type": job["type"],
        "tags": job["tags"] or None,
        "renderProgress": job.get("renderProgress") or 0,
        "error": job.get("error"),
        **{name: job.get(name) for name in ("createdAt", "updatedAt", "startedAt", "finishedAt", "errorAt")},
    }


def decoded(body: bytes) -> dict[str, Any] | Answer:
    try:
        given = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return INVALID_JSON
    return given if isinstance(given, dict) else BROKEN
