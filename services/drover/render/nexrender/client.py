"""The client for nexrender: find a job, submit it, remove it. When to do so, and what then, is up to the worker."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import quote

import structlog

from drover.render.nexrender.answers import SHOWN_CHARS_MAX, RemoteJob, decode, of_ours, read_job
from drover.render.nexrender.errors import NexrenderConfused, NexrenderDown, NexrenderForbidden, NexrenderRefused
from drover.render.nexrender.job import UidUnusable, simplified
from drover.render.nexrender.states import Dialect
from drover.render.nexrender.wire import CONNECT_S, TOTAL_S, Wire

__all__ = [
    "Dialect",
    "NexrenderClient",
    "NexrenderConfused",
    "NexrenderDown",
    "NexrenderForbidden",
    "NexrenderRefused",
    "RemoteJob",
]

JOB_BYTES_MAX: Final = 4 * 1024 * 1024
LIST_BYTES_MAX: Final = 32 * 1024 * 1024
NAMES_MAX: Final = 1024
"""So many jobs of ours are remembered by the name that the server gave them."""
DUPLICATES_MAX: Final = 10
_NOT_THERE: Final = frozenset({404, 410})
_NOT_OFFERED: Final = frozenset({404, 405, 410, 501})
_BAD_DOCUMENT: Final = frozenset({400, 415, 422})
_NOT_A_JOB: Final = frozenset({"", ".", "..", "pickup", "status"})

log = structlog.stdlib.get_logger(__name__)


class NexrenderClient:
    """Speaks real nexrender's API and the simplified one of 003 §3.5; which, is learned from what is answered.

    At real nexrender a job has the uid that we give it. It stores the same uid twice and then renders it again and
    again, so `find` comes before `submit`, always; between the two nobody else may submit that uid.

    A server of 003 gives a job a name of its own. `submit` tells it (`RemoteJob.uid`), and while this client lives it
    also remembers which it is, so that both names can be asked for. After a crash in between, `find` goes through
    `GET /jobs` for our uid or our tag. 003 does not say that such a list exists, nor that it tells of either: where it
    does not, a job that was submitted by a worker that died before it could say so is not found and is rendered a
    second time. That costs a render; the file is the same.

    No call is repeated in here. Whatever raises `NexrenderDown` may have taken effect.
    """

    def __init__(
        self,
        base_url: str,
        *,
        secret: str = "",
        dialect: Dialect | None = None,
        connect_s: float = CONNECT_S,
        total_s: float = TOTAL_S,
    ) -> None:
        self._wire = Wire(base_url, secret, connect_s=connect_s, total_s=total_s)
        self.dialect = dialect
        """What the server speaks, by its latest answer; None until it has told."""
        self._likely = Dialect.NEXRENDER
        self._names: OrderedDict[str, str] = OrderedDict()

    async def __aenter__(self) -> Self:
        await self._wire.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._wire.__aexit__(kind, error, trace)

    async def health(self) -> None:
        """Returns if somebody answers. Says nothing about the secret: real nexrender does not ask for it here."""
        await self._wire.call("health", "GET", "/health", bytes_max=JOB_BYTES_MAX, absent=_NOT_OFFERED)

    async def find(self, uid: str) -> RemoteJob | None:
        """The job of this name, ours or the server's; None where there is none (empty answer, `{}` or 404)."""
        named = self._names.get(uid, uid)
        body = await self._wire.call("find", "GET", _path(named), bytes_max=JOB_BYTES_MAX, absent=_NOT_THERE)
        if body and (answer := decode("find", body)) is not None:
            job = read_job("find", answer, named)
            if job.dialect is Dialect.NEXRENDER and job.uid != named:
                raise NexrenderConfused("find", f"asked for the job {named} it told of {job.uid[:SHOWN_CHARS_MAX]!r}")
            return self._learned(job)
        if self.dialect is None:
            # Nobody but real nexrender answers 200 and nothing when it does not know a job.
            self._likely = Dialect.NEXRENDER if body == b"" else Dialect.SIMPLIFIED
        if (self.dialect or self._likely) is Dialect.NEXRENDER:
            return None
        return await self._find_in_list(uid)

    async def _find_in_list(self, uid: str) -> RemoteJob | None:
        try:
            body = await self._wire.call("list", "GET", "/jobs", bytes_max=LIST_BYTES_MAX, absent=_NOT_OFFERED)
            job = of_ours("list", decode("list", body or b""), uid)
        except (NexrenderConfused, NexrenderRefused) as error:
            # Not worth standing still for: at worst it is rendered a second time.
            log.warning("nexrender_list_unusable", uid=uid, reason=str(error))
            return None
        if job is None:
            return None
        self._remember(uid, job)
        return self._learned(job)

    async def submit(self, document: Mapping[str, Any]) -> RemoteJob:
        """Give it a job of `job_document`, which is put into the server's dialect. `find` comes first."""
        sent = self.dialect or self._likely
        try:
            job = await self._post(document, sent)
        except NexrenderRefused as refusal:
            if self.dialect is not None or refusal.status not in _BAD_DOCUMENT:
                raise
            sent = Dialect.SIMPLIFIED if sent is Dialect.NEXRENDER else Dialect.NEXRENDER
            try:
                job = await self._post(document, sent)
            except NexrenderRefused:
                raise refusal from None
        if job.dialect is not sent:
            # Another server than we took it for, and it has not understood where the file should land.
            with suppress(NexrenderRefused):
                await self._delete(job.uid)
            job = await self._post(document, job.dialect)
        self._remember(str(document["uid"]), job)
        return job

    async def _post(self, document: Mapping[str, Any], dialect: Dialect) -> RemoteJob:
        shaped = simplified(document) if dialect is Dialect.SIMPLIFIED else document
        body = await self._wire.call("submit", "POST", "/jobs", document=shaped, bytes_max=JOB_BYTES_MAX)
        answer = decode("submit", body or b"")
        if answer is None:
            raise NexrenderConfused("submit", "its answer is empty. Is the address right?")
        return self._learned(read_job("submit", answer))

    async def remove(self, uid: str) -> None:
        """Take a job off the server's list, whatever its name; no error if it is not there.

        A render that has begun goes on, and its file still lands. `NexrenderRefused` where a server of 003 has no way
        to remove jobs.
        """
        for _ in range(DUPLICATES_MAX):
            job = await self.find(uid)
            if job is None:
                return
            await self._delete(job.uid)
            if job.dialect is Dialect.SIMPLIFIED:
                return
            # Real nexrender takes the latest of that uid only; if it was submitted twice, the other would be rendered.
        raise NexrenderConfused("remove", f"it still has a job {uid} after {DUPLICATES_MAX} were removed")

    async def _delete(self, named: str) -> None:
        await self._wire.call("remove", "DELETE", _path(named), bytes_max=JOB_BYTES_MAX, absent=_NOT_THERE)

    def _learned(self, job: RemoteJob) -> RemoteJob:
        self.dialect = job.dialect
        return job

    def _remember(self, uid: str, job: RemoteJob) -> None:
        if job.uid == uid:
            return
        self._names[uid] = job.uid
        self._names.move_to_end(uid)
        while len(self._names) > NAMES_MAX:
            self._names.popitem(last=False)


def _path(named: str) -> str:
    if named in _NOT_A_JOB:
        raise UidUnusable(named)  # `GET /jobs/pickup` would take a job away from the workers
    return f"/jobs/{quote(named, safe='')}"
