"""Writes of `render_queue`, the queue of document 003: request, cancel, release and repeat renders (§4.2), and the work
of external workers.

An external worker is a worker of the users' own (§3). It claims a render and reports on it by writing to this table.
Our own workers do the same over the bus.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import asdict

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.decider import Command
from drover.domain.errors import Code
from drover.domain.render.commands import (
    CancelRender,
    ClaimRender,
    ReleaseRender,
    ReportWork,
    RequestRender,
    RerunRender,
)
from drover.domain.render.fence import RowFence
from drover.domain.render.state import ENDED, WORKING
from drover.gateway.gfx_data import Sealed, check_shape
from drover.gateway.reports import Percentage
from drover.gateway.rows import Row
from drover.gateway.writes.declaration import Insert, Result, Target, Update, WriteTable
from drover.gateway.writes.edge import Edge
from drover.gateway.writes.sending import Sending
from drover.gateway.writes.shown import stored
from drover.readmodel.models import RELATIONS
from drover.web.errors import ApiError

_HINT: Final = (
    "Write a status: cancelled, or pending, which takes the render from its worker or, if it failed or was cancelled, "
    "runs it again. A worker claims it with preparing and its worker_id, and then reports rendering, encoding, "
    "uploading, completed or failed."
)
_WORDS: Final = {"queued": "rendering", "finished": "uploading", "error": "failed"}
"""nexrender's words for a status, each with ours (document 003 §3.5.2)."""
_WORK: Final = frozenset({"worker_id", "lock_expires_at", "nexrender_job_id"})
_USED: Final[dict[str | None, frozenset[str]]] = {
    "cancelled": frozenset({"status"}),
    "preparing": frozenset({"status", "worker_id", "lock_expires_at"}),
    None: _WORK | {"progress"},
    "rendering": _WORK | {"status", "progress"},
    "encoding": _WORK | {"status", "progress"},
    "uploading": _WORK | {"status"},
    "completed": _WORK | {"status", "output_file_path", "output_size_bytes", "output_sha256"},
    "failed": _WORK | {"status", "error_message"},
}
"""For each status that a client writes (None: it writes no status): the columns that have an effect with it. `_release`
handles `pending`."""
_UNCHANGING: Final = frozenset(
    {"id", "composition_id", "composition_name", "cue_item_id", "broadcast_date", "created_at", "gfx_data"}
)
"""Columns that never change after the insert, so a filter on them needs no second check."""
_FENCED: Final = frozenset({"status", "worker_id", "lock_expires_at"})
_OF_RUN: Final = frozenset({"run", "nexrender_job_id"})
"""Columns that do not change while a worker holds the render. If a filter names a column that is in none of
`_UNCHANGING`, `_FENCED` and `_OF_RUN`, a report of the worker may have changed it: then the queue checks all columns of
`_FENCED`."""
_NEW: Final[Row] = dict.fromkeys(RELATIONS["render_queue"].columns) | {"run": 0, "unmapped_fields": []}


class NewRender(msgspec.Struct, forbid_unknown_fields=True):
    """A row of `render_queue` as a client writes it."""

    composition_id: str | int
    gfx_data: dict[str, Any]
    cue_item_id: str | int | None = None
    broadcast_date: date | None = None
    composition_name: str | None = None
    """Default: the name in gfx_data, else the name of the composition, else its id."""
    status: Literal["pending"] = "pending"

    @property
    def name(self) -> str:
        named = self.gfx_data.get("composition_name") if self.composition_name is None else self.composition_name
        return named if isinstance(named, str) else ""


Size = Annotated[int, Meta(ge=0, lt=2**53)]
Word = Literal[
    "cancelled",
    "pending",
    "preparing",
    "rendering",
    "encoding",
    "uploading",
    "completed",
    "failed",
    "queued",
    "finished",
    "error",
]


class RenderChange(msgspec.Struct, forbid_unknown_fields=True):
    """What a PATCH may change: what people and external workers write."""

    status: Word | UnsetType = UNSET
    """nexrender's words `queued`, `finished` and `error` mean `rendering`, `uploading` and `failed`."""
    worker_id: str | None = None
    """With `preparing`: the worker that claims. With a report: the worker that reports; it must have the claim."""
    lock_expires_at: datetime | None = None
    """The end of the lease, at most as late as `DROVER_RENDER_LEASE_S` allows. Without a time zone: UTC, as in
    Postgres."""
    nexrender_job_id: str | int | None = None
    progress: Percentage | None = None
    output_file_path: str | None = None
    output_size_bytes: Size | None = None
    output_sha256: str | None = None
    error_message: str | None = None

    @property
    def means(self) -> str | None:
        return None if self.status is UNSET else _WORDS.get(self.status, self.status)

    @property
    def lease_until(self) -> datetime | None:
        until = self.lock_expires_at
        return until if until is None or until.tzinfo is not None else until.replace(tzinfo=UTC)


class _SealedRender(NewRender, kw_only=True):
    sealed: Sealed


async def _seal(edge: Edge, rows: Sequence[NewRender]) -> list[_SealedRender]:
    sealed = await edge.gfx_data.seal([row.gfx_data for row in rows])
    return [_SealedRender(**asdict(row), sealed=one) for row, one in zip(rows, sealed, strict=True)]


def _request(edge: Edge, row: _SealedRender) -> RequestRender:
    return RequestRender(
        composition_id=str(row.composition_id),
        gfx_id=row.sealed.gfx_id,
        gfx_data=row.sealed.text,
        composition=row.name,
        cue_item_id=row.cue_item_id,
        broadcast_date=row.broadcast_date,
    )


def _requested(edge: Edge, command: RequestRender, done: Accepted) -> Row:
    told = dict(done.result)
    gfx_data = str(Sealed(command.gfx_id, command.gfx_data))
    return _NEW | {"composition_name": told.pop("composition"), "gfx_data": gfx_data} | told


async def _apply(change: RenderChange, targets: Sequence[Target], sending: Sending) -> Sequence[Result]:
    status = change.means
    if status is None and (change.progress, change.lock_expires_at, change.nexrender_job_id) == (None, None, None):
        raise ApiError(400, Code.VALIDATION_ERROR, "status is required", details={"field": "status"}, hint=_HINT)
    if status == "pending":
        return await _release(change, targets, sending)
    sending.use_only(_USED[status])
    command = {"cancelled": _cancel, "preparing": _claim}.get(status or "", _report)
    commands = [command(change, target) for target in targets]
    sending.check(commands)
    return await sending.send(commands, [target.id for target in targets])


def _cancel(change: RenderChange, target: Target) -> Command:
    return CancelRender(int(target.id), only_if=_fence(target))


def _claim(change: RenderChange, target: Target) -> Command:
    return ClaimRender(int(target.id), change.worker_id, change.lease_until, only_if=_fence(target))


def _report(change: RenderChange, target: Target) -> Command:
    status, job_id = change.means, change.nexrender_job_id
    return ReportWork(
        render_id=int(target.id),
        status=status,  # type: ignore[arg-type]  # only the statuses of a report reach this
        worker_id=change.worker_id,
        progress=change.progress,
        nexrender_job_id=None if job_id is None else str(job_id),
        lease_until=change.lease_until,
        output_file_path=change.output_file_path,
        size_bytes=change.output_size_bytes,
        sha256=change.output_sha256,
        message=change.error_message,
        only_if=_fence(target),
    )


async def _release(change: RenderChange, targets: Sequence[Target], sending: Sending) -> Sequence[Result]:
    """Take renders from their workers, and run ended renders again."""
    cleared = {name for name in ("worker_id", "lock_expires_at") if getattr(change, name) is None}
    sending.use_only({"status"} | cleared)
    outcomes = await _send(ReleaseRender, [target for target in targets if not _ended(target)], sending)
    # If the request names renders by id alone, only the writer knows which have ended: it refuses to release them. The
    # two commands have the same id, so a repeat of the request does not take the render from its next worker.
    again = [one for one in targets if _ended(one) or (not one.row and _is_conflict(outcomes[one.id]))]
    outcomes |= await _send(RerunRender, again, sending)
    return [outcomes[target.id] for target in targets]


async def _send(
    command: type[ReleaseRender | RerunRender], targets: Sequence[Target], sending: Sending
) -> dict[str, Outcome]:
    ids = [target.id for target in targets]
    outcomes = await sending.send([command(int(target.id), only_if=_fence(target)) for target in targets], ids)
    return dict(zip(ids, outcomes, strict=True))


def _ended(target: Target) -> bool:
    return target.fence("status") in ENDED


def _fence(target: Target) -> RowFence | None:
    """Return the values that must be unchanged when the queue decides, because the filters matched them. None: the
    filters name only columns that never change. For a render that no worker holds, run and status are enough: no other
    column changes unless one of them does."""
    asked = target.by - _UNCHANGING
    if not asked:
        return None
    if target.fence("status") not in WORKING:
        return RowFence(run=target.fence("run"), status=target.fence("status"))
    if asked - _FENCED - _OF_RUN:
        asked |= _FENCED
    return RowFence(
        run=target.fence("run") if asked - _FENCED else None,
        status=target.fence("status") if "status" in asked else None,
        worker_id=target.fence("worker_id") if "worker_id" in asked else None,
        lease_until=_moment(target.fence("lock_expires_at")) if "lock_expires_at" in asked else None,
    )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else msgspec.convert(text, datetime)


def _is_conflict(outcome: Outcome) -> bool:
    return isinstance(outcome, Rejected) and outcome.code == Code.CONFLICT


RENDER_QUEUE: Final = WriteTable(
    relation="render_queue",
    client=lambda edge, command: edge.render,
    insert=Insert(
        shape=NewRender,
        check=lambda row: check_shape(row.gfx_data),
        seal=_seal,
        command=_request,
        show=_requested,
        names={"composition": "composition_name"},
    ),
    update=Update(
        shape=RenderChange,
        apply=_apply,
        show=stored("render_queue"),
        hint=_HINT,
    ),
    fence=("run", "status", "worker_id", "lock_expires_at"),
)
