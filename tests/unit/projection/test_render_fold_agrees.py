"""The decider's state and the read model are two folds of one log: what both know, they say alike."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import astuple

from drover.domain.render.events import QueueEvent
from drover.domain.render.state import ENDED, Render, RenderQueue
from drover.eventlog.codec import Codec
from drover.eventlog.log import StoredCommit
from drover.projection.memory import MemoryTables
from drover.projector.render import RENDER_PROJECTION
from drover.projector.render.queue import MEASURED
from drover.readmodel.alerts import ALERTS
from drover.readmodel.render.mapping import COMPOSITIONS, FIELDS
from drover.readmodel.render.queue import AUDIT, RENDERS
from drover.readmodel.table import KeyedTable
from drover.testing.scenario import NOON
from tests.unit.projection.render_walking import RenderWalk

STEPS = 2500
SEEDS = range(4)


def _render(render: Render) -> dict[str, Any]:
    known = {
        "composition_id": render.composition_id,
        "composition_name": render.composition,
        "cue_item_id": render.cue_item_id,
        "broadcast_date": render.broadcast_date,
        "created_at": render.requested_at,
        "status": render.status,
        "run": render.run,
        "generation": render.generation,
        "lock_expires_at": render.lease_until,
        "nexrender_job_id": render.nexrender_job_id,
        "progress": render.progress,
        "started_at": render.started_at,
        "recovery_count": render.recovery_count,
        "retry_due_at": render.retry_due,
        "output_sha256": render.sha256 or None,
        "external": render.external,
    }
    # The decider lets go of the worker at the end; people may want to know who it was.
    return known if render.status in ENDED else known | {"worker_id": render.worker_id}


def _by_id(tables: MemoryTables, table: KeyedTable[Any]) -> dict[Any, dict[str, Any]]:
    rows = (dict(zip(table.columns, row, strict=True)) for row in tables.rows(table))
    return {row["id"]: row for row in rows}


def compare(queue: RenderQueue, tables: MemoryTables) -> None:
    for render_id, render in queue.renders.items():
        row, expected = tables.get(RENDERS, render_id), _render(render)
        assert {name: getattr(row, name) for name in expected} == expected, render_id
    rows = _by_id(tables, FIELDS)
    assert {id_: (row["composition_id"], row["field_name"]) for id_, row in rows.items()} == queue.mappings
    compositions = _by_id(tables, COMPOSITIONS)
    assert compositions.keys() == queue.compositions.keys()
    for composition_id, composition in queue.compositions.items():
        shown = compositions[composition_id]
        assert (shown["name"], shown["template"], shown["output_module"]) == astuple(composition.spec)
        assert {*shown["mapping_ids"]} == {field.mapping_id for field in composition.fields.values()}
        for field in composition.fields.values():
            row = rows[field.mapping_id]
            assert (row["layer_name"], row["kind"], row["property"]) == (field.layer_name, field.kind, field.property)
    alerts = [dict(zip(ALERTS.columns, row, strict=True)) for row in tables.rows(ALERTS)]
    assert {row["id"] for row in alerts if row["resolved_at"] is None} == {*queue.alerts.values()}


def check_history(tables: MemoryTables) -> None:
    """The audit of each render is one unbroken chain from its request to where it stands, and never a step in place."""
    last: dict[int, str] = {}
    for row in tables.rows(AUDIT):
        entry = dict(zip(AUDIT.columns, row, strict=True))
        assert entry["status_from"] == last.get(entry["render_queue_id"])
        assert entry["status_from"] != entry["status_to"]
        last[entry["render_queue_id"]] = entry["status_to"]
    rows = [dict(zip(RENDERS.columns, row, strict=True)) for row in tables.rows(RENDERS)]
    assert {row["id"]: row["status"] for row in rows} == last
    for row in rows:
        assert all(row[column] is None or row[column] >= 0 for column in MEASURED.values())


@pytest.mark.req("RN-01", "EV-03")
@pytest.mark.parametrize("seed", SEEDS)
def test_decider_and_read_model_never_disagree(seed: int) -> None:
    walk, tables, codec = RenderWalk(seed), MemoryTables(RENDER_PROJECTION), Codec(QueueEvent)
    for step in range(STEPS):
        if events := walk.step():
            tables.fold(StoredCommit(step, "c", 1, NOON, codec.encode(events)))
        if step % 10 == 0:
            compare(walk.queue, tables)
    compare(walk.queue, tables)
    check_history(tables)


def test_the_walks_come_by_almost_every_type_of_event() -> None:
    seen: set[type] = set()
    for seed in SEEDS:
        walk = RenderWalk(seed)
        for _ in range(STEPS):
            seen.update(map(type, walk.step()))
    rare = {type_.__name__ for type_ in set(QueueEvent.__args__) - seen}
    assert rare <= {"TermStarted", "StopAbandoned"}
