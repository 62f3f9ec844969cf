"""Decodes nexrender's answers about jobs, in both dialects (see `states.Dialect`). Pure: no HTTP here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from drover.render.nexrender.errors import NexrenderConfused
from drover.render.nexrender.job import uid_tag
from drover.render.nexrender.states import Dialect, Stage, error_of, progress_of, shortened, stage_of

SHOWN_CHARS_MAX: Final = 120


@dataclass(frozen=True, slots=True)
class RemoteJob:
    """A job as nexrender reports it."""

    uid: str
    """The server's id of the job, for later calls. Real nexrender uses our uid; a server with the simplified API of
    document 003 (the render queue) makes an id of its own."""
    stage: Stage
    progress: int | None
    """Progress in percent, 0 to 100; None if the answer has none. Even 100 does not mean that the render is done."""
    state: str
    """The server's own name of the job's state."""
    error: str | None
    """The error, shortened; None if there is none. It may be set although the stage is not `error`."""
    dialect: Dialect


def decode(call: str, body: bytes) -> Any:
    """Decode a body. Returns None for an empty body and for `{}`: so nexrender answers if a job is not found."""
    if not body.strip():
        return None
    try:
        return msgspec.json.decode(body) or None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        shown = shortened(" ".join(body[: 4 * SHOWN_CHARS_MAX].decode("utf-8", "replace").split()), SHOWN_CHARS_MAX)
        raise NexrenderConfused(call, f"its answer is not JSON but {shown!r}") from error


def read_job(call: str, answer: Any, asked_for: str | None = None) -> RemoteJob:
    """Read the job in an answer. Its field `state` or `status` reveals the dialect; each dialect has its own field for
    the job's id. `asked_for`: the id to use if the answer has none."""
    if not isinstance(answer, Mapping):
        raise NexrenderConfused(call, "its answer is not a job but a JSON " + type(answer).__name__)
    if isinstance(state := answer.get("state"), str):
        dialect, named = Dialect.NEXRENDER, answer.get("uid")
    elif isinstance(state := answer.get("status"), str):
        dialect, named = Dialect.SIMPLIFIED, answer.get("id") or answer.get("uid")
    else:
        raise NexrenderConfused(call, "its answer has neither `state` nor `status`, so it is not a job")
    named = str(named) if isinstance(named, str | int) and named != "" else asked_for
    if not named:
        raise NexrenderConfused(call, "its answer has no id of the job")
    return RemoteJob(named, stage_of(state), progress_of(answer), state, error_of(answer), dialect)


def of_ours(call: str, listing: Any, uid: str) -> RemoteJob | None:
    """Find the job with our uid, or with the tag of that uid, in a list of jobs. If there are several, return the
    latest one that has not failed; if all have failed, the latest."""
    found = [read_job(call, entry) for entry in _entries(listing) if _is_ours(entry, uid)]
    return next((job for job in reversed(found) if job.stage is not Stage.ERROR), found[-1] if found else None)


def _entries(listing: Any) -> Iterator[Mapping[str, Any]]:
    entries = listing.get("jobs") if isinstance(listing, Mapping) else listing
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, Mapping):
            yield entry


def _is_ours(entry: Mapping[str, Any], uid: str) -> bool:
    tags = entry.get("tags")
    told = tags.split(",") if isinstance(tags, str) else tags if isinstance(tags, list) else ()
    return uid in (entry.get("uid"), entry.get("id")) or uid_tag(uid) in (str(tag).strip() for tag in told)
