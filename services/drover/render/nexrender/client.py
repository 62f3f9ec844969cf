"""The nexrender client: find, submit and remove jobs. The worker decides when."""

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
"""Maximum of the server's own job ids to remember."""
DUPLICATES_MAX: Final = 10
_NOT_THERE: Final = frozenset({404, 410})
_NOT_OFFERED: Final = frozenset({404, 405, 410, 501})
_BAD_DOCUMENT: Final = frozenset({400, 415, 422})
_NOT_A_JOB: Final = frozenset({"", ".", "..", "pickup", "status"})

log = structlog.stdlib.get_logger(__name__)


class NexrenderClient:
    """Speaks real nexrender's API and the simplified API of document 003 (the render queue), §3.5. The answers of a
    server reveal which one it has.

    Real nexrender uses the uid that we give to a job. It accepts the same uid twice and then renders it again and
    again, so always call `find` before `submit`; between the two nobody else may submit that uid.

    A server with the simplified API gives a job an id of its own. `submit` returns that id (`RemoteJob.uid`), and this
    client remembers it, so both ids can be used. If the worker crashes before it has reported the id, `find` searches
    `GET /jobs` for our uid or our tag. Document 003 promises neither such a list nor these fields: without them, the
    job is not found, and is rendered a second time. That costs a render; the file is the same.

    The client does not retry. A call that raises `NexrenderDown` may have taken effect.
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
        """The server's dialect, by its latest answer; None until it is known."""
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
        """Returns if the server answers. Does not check the secret: real nexrender does not ask for it here."""
        await self._wire.call("health", "GET", "/health", bytes_max=JOB_BYTES_MAX, absent=_NOT_OFFERED)

    async def find(self, uid: str) -> RemoteJob | None:
        """Return the job with this id, ours or the server's. None if there is none (empty answer, `{}`, 404 or 410)."""
        named = self._names.get(uid, uid)
        body = await self._wire.call("find", "GET", _path(named), bytes_max=JOB_BYTES_MAX, absent=_NOT_THERE)
        if body and (answer := decode("find", body)) is not None:
            job = read_job("find", answer, named)
            if job.dialect is Dialect.NEXRENDER and job.uid != named:
                raise NexrenderConfused("find", f"it answered for job {job.uid[:SHOWN_CHARS_MAX]!r} instead of {named}")
            return self._learned(job)
        if self.dialect is None:
            # Only real nexrender answers 200 with an empty body for an unknown job.
            self._likely = Dialect.NEXRENDER if body == b"" else Dialect.SIMPLIFIED
        if (self.dialect or self._likely) is Dialect.NEXRENDER:
            return None
        return await self._find_in_list(uid)

    async def _find_in_list(self, uid: str) -> RemoteJob | None:
        try:
            body = await self._wire.call("list", "GET", "/jobs", bytes_max=LIST_BYTES_MAX, absent=_NOT_OFFERED)
            job = of_ours("list", decode("list", body or b""), uid)
        except (NexrenderConfused, NexrenderRefused) as error:
            # An unusable list is no reason to fail: at worst the job is rendered a second time.
            log.warning("nexrender_list_unusable", uid=uid, reason=str(error))
            return None
        if job is None:
            return None
        self._remember(uid, job)
        return self._learned(job)

    async def submit(self, document: Mapping[str, Any]) -> RemoteJob:
        """Submit a document of `job_document`, converted to the server's dialect. Call `find` first."""
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
            # The server speaks the other dialect, so it has not understood the output path.
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
        """Remove a job from the server's list, by our id or the server's; no error if it is not there.

        A render that has begun continues and still writes its file. Raises `NexrenderRefused` if a server with the
        simplified API cannot remove jobs.
        """
        for _ in range(DUPLICATES_MAX):
            job = await self.find(uid)
            if job is None:
                return
            await self._delete(job.uid)
            if job.dialect is Dialect.SIMPLIFIED:
                return
            # Real nexrender removes only the latest job of that uid; a duplicate would still be rendered.
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
        raise UidUnusable(named)  # `GET /jobs/pickup` would take a job from nexrender's workers
    return f"/jobs/{quote(named, safe='')}"
