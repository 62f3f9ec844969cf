"""`/api/system`: partitions with their leaders and positions, lag of read models, health of servers, connections."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Final, NamedTuple

import msgspec
from nats.errors import Error as NatsError

from drover.api.leads import CONNECTED, Lead, LogState
from drover.api.reads.database import ReadModels
from drover.api.reads.endpoint import Endpoint, Question, Subject, reads
from drover.api.reads.queries import QUERIES
from drover.readmodel.models import READ_MODELS
from drover.web.errors import ApiError
from drover.writer.refusals import Refusal

PATH: Final = "/api/system"


class PartitionState(msgspec.Struct):
    """The state of one partition of a context: its log, its writer and its read model."""

    context: str
    partition: str
    leader: str | None
    """The instance that holds the lease of the partition and so writes to it; null while there is none."""
    leads_since: datetime | None
    log_seq: int
    """The sequence number of the partition's last commit."""
    log_at: datetime | None
    projected_seq: int | None
    """The last commit that the read model has applied; null while Postgres is unavailable or the read model does not
    exist."""
    projected_at: datetime | None
    """When the read model last applied a commit; null if `projected_seq` is null."""
    behind: int | None
    """How many sequence numbers the read model is behind the log; null if `projected_seq` is null."""
    lag_s: float | None
    """For how many seconds the read model has lacked the last commit; 0 if it has it, null if `projected_seq` is
    null."""
    refusal: Refusal | None
    """Why a command to this partition would be refused now, and what to do about it. Null: it would be accepted."""
    log_full: float | None
    """How full the log of the context is, as a share of its limit: 1 is full. Null: it has no limit."""


class ReadModel(msgspec.Struct):
    schema: str
    version: int
    created_at: datetime
    """When the last rebuild of the read model from the log began."""


class DetachedRows(msgspec.Struct):
    """Rows of events and attempts that an operator took out of the read model with `drover projection detach`. The log
    still has the events."""

    context: str
    before_seq: int
    """All rows of commits before this one are detached."""
    until: datetime | None
    """The time of the last event among them."""


class TableDifference(msgspec.Struct):
    """A row that differs between the rebuilt and the live read model."""

    table: str
    key: str
    kind: str
    """`missing`: only the rebuilt read model has the row. `extra`: only the live one has it. `differs`: both have it,
    with different values."""
    columns: dict[str, tuple[str, str]] = {}
    """If `kind` is `differs`, for each column: the value that the log gives, and the value in the live table."""


class RebuiltTable(msgspec.Struct):
    table: str
    rows: int
    """How many rows were compared."""
    different: int
    examples: list[TableDifference]
    """At most 20 of the differences."""


class RebuildState(msgspec.Struct):
    """A running or finished rebuild of a read model from the log by `drover projection rebuild`."""

    id: int
    projection: str
    by: str
    """The machine that runs the rebuild."""
    dry_run: bool
    stage: str
    """`folding` (applying events), `comparing` or `swapping`; at the end `swapped`, `dropped` or `failed`.
    `interrupted`: the process of the rebuild has died."""
    folded: int
    """The number of events that were applied so far."""
    events: int | None
    """The number of events to apply in total; null while unknown."""
    positions: dict[str, int] | None
    tables: list[RebuiltTable] | None
    """What differs from the live read model, for each table; null before the comparison."""
    error: str | None
    started_at: datetime
    updated_at: datetime
    ended_at: datetime | None


def make_rebuild(record: Any) -> RebuildState:
    state = RebuildState(*record)
    if record["positions"] is not None:
        state.positions = msgspec.json.decode(record["positions"], type=dict[str, int])
    if record["tables"] is not None:
        state.tables = msgspec.json.decode(record["tables"], type=list[RebuiltTable])
    return state


class Dependency(msgspec.Struct):
    name: str
    """`nats` or `postgres`."""
    status: str
    """`connected`, or the error."""
    version: str | None = None
    latency_ms: float | None = None
    size_bytes: int | None = None


class Connection(msgspec.Struct):
    """The connections of one process to Postgres, by its application name."""

    name: str
    connections: int
    active: int
    since: datetime


class System(msgspec.Struct):
    at: datetime
    version: str
    instance: str
    """The name of the process that answers."""
    partitions: list[PartitionState]
    read_models: list[ReadModel]
    detached: list[DetachedRows]
    """What the read models no longer have. Empty: they have every event."""
    rebuilds: list[RebuildState]
    """The last 20 rebuilds, newest first."""
    dependencies: list[Dependency]
    connections: list[Connection]


class Partitions(NamedTuple):
    partitions: list[PartitionState]
    nats: str
    postgres: str


class SystemReader:
    """Collects the state of the system. If NATS or Postgres is unreachable, it still reports the other one."""

    def __init__(self, log: LogState, models: ReadModels, instance: str) -> None:
        self._log = log
        self._models = models
        self._instance = instance

    async def partitions(self) -> Partitions:
        leads, nats = await self._log.leads()
        rows, postgres = await self._asked("checkpoints", [model.schema for model in READ_MODELS])
        projected = {(row["context"], row["partition"]): row for row in rows}
        now = datetime.now(UTC)
        states = [_state(lead, projected.get((lead.partition.context, lead.partition.name)), now) for lead in leads]
        return Partitions(states, nats, postgres)

    async def read(self) -> System:
        partitions, nats, postgres = await self.partitions()
        models, _ = await self._asked("read_models")
        detached, _ = await self._asked("detached")
        rebuilds, _ = await self._asked("rebuilds")
        connections, _ = await self._asked("connections")
        return System(
            at=datetime.now(UTC),
            version=version("drover"),
            instance=self._instance,
            partitions=partitions,
            read_models=[ReadModel(*row) for row in models],
            detached=[DetachedRows(*row) for row in detached],
            rebuilds=[make_rebuild(row) for row in rebuilds],
            dependencies=[await self._nats(nats), await self._postgres(postgres)],
            connections=[Connection(*row) for row in connections],
        )

    async def _nats(self, status: str) -> Dependency:
        try:
            latency_ms = await self._log.ping()
        except (NatsError, OSError, TimeoutError):
            latency_ms = None
        return Dependency("nats", status, self._log.version, latency_ms)

    async def _postgres(self, status: str) -> Dependency:
        started = time.perf_counter()
        rows, status_now = await self._asked("database")
        if not rows:
            return Dependency("postgres", status_now)
        latency_ms = round((time.perf_counter() - started) * 1000, 3)
        return Dependency("postgres", status, rows[0]["version"], latency_ms, rows[0]["size_bytes"])

    async def _asked(self, query: str, *values: Any) -> tuple[list[Any], str]:
        try:
            return await self._models.ask(QUERIES[query], *values), CONNECTED
        except ApiError as error:
            return [], f"unreachable: {error.message}"


def _state(lead: Lead, projected: Any | None, now: datetime) -> PartitionState:
    behind = None if projected is None else max(0, lead.seq - projected["seq"])
    lag_s = None
    if behind is not None:
        # Count the lag from the last commit or, if that is later, from the time when the read model last moved: it is
        # catching up.
        since = max(filter(None, (lead.at, projected["updated_at"] if projected else None)), default=now)
        lag_s = round(max(0.0, (now - since).total_seconds()), 3) if behind else 0.0
    return PartitionState(
        context=lead.partition.context,
        partition=lead.partition.name,
        leader=lead.leader,
        leads_since=lead.since,
        log_seq=lead.seq,
        log_at=lead.at,
        projected_seq=None if projected is None else projected["seq"],
        projected_at=None if projected is None else projected["updated_at"],
        behind=behind,
        lag_s=lag_s,
        refusal=lead.refusal,
        log_full=None if lead.full is None else round(lead.full, 4),
    )


class Systems(Subject):
    def __init__(self, endpoint: Endpoint, reader: SystemReader) -> None:
        super().__init__(endpoint)
        self._reader = reader

    @reads(
        PATH,
        id="getSystem",
        tag="operations",
        summary="Leases, positions, lag, servers, connections",
        answer=System,
        contexts=(),
    )
    async def get(self, question: Question) -> System:
        return await self._reader.read()
