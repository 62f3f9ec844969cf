"""Afterwards: the log against itself, against what the agents did, and against every table that was made of it."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import msgspec

from drover.bus.connection import connected
from drover.domain.fleet import FLEET
from drover.domain.fleet import events as e
from drover.eventlog.codec import Codec
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition
from drover.projection.memory import MemoryTables
from drover.projector.app import PROJECTIONS
from drover.simulator.population import Wiring
from drover.testing.waiting import eventually
from tests.simulation import fleet_invariants
from tests.simulation.fleet_history import ENDS, History

CATCH_UP_S = 300.0
SHOWN = 5
RETRY_LATE_MAX = timedelta(seconds=30)


class Audit(msgspec.Struct):
    commits: int = 0
    events: int = 0
    commands: int = 0
    types: Counter[str] = msgspec.field(default_factory=Counter)
    wrong: list[str] = []
    freed_to_offer_s: list[float] = []
    """From the decision that freed a slot and filled it again to the offer in the hands of an agent with a socket."""

    def complain(self, what: str, found: list[Any]) -> None:
        if found:
            self.wrong.append(f"{what}: {len(found)}, for example {found[:SHOWN]}")


async def audit(nats_url: str, dsn: str, ledger_path: Path, wiring: Wiring) -> Audit:
    result = Audit()
    (projection,) = (p for p in PROJECTIONS if p.context == "fleet")
    tables, history, fleet = MemoryTables(projection), History(RETRY_LATE_MAX), FLEET.initial()
    codec = Codec.of(FLEET)
    sent: Counter[tuple[str, int]] = Counter()
    causes: set[str] = set()
    refilled: dict[tuple[str, int], datetime] = {}
    freeing = ""
    async with connected(nats_url, "audit") as client:
        log = JetStreamLog(client, Partition("fleet"))
        last = await log.last()
        assert last is not None
        async with log.read(0) as reader:
            done = False
            while not done:
                for commit in await reader.next():
                    tables.fold(commit)
                    result.commits += 1
                    for event in codec.decode(commit.payload):
                        result.events += 1
                        assert event.n == result.events, "a hole in the log"
                        result.types[type(event).__name__] += 1
                        causes.add(event.cause)
                        history.see(event)  # attempts begin and end once
                        FLEET.evolve(fleet, event)
                        if isinstance(event, ENDS):
                            freeing = event.cause
                        if isinstance(event, e.AttemptCreated) and event.cause == freeing:
                            refilled[event.assignment_id, event.run] = event.at
                        if isinstance(event, e.AttemptSent):
                            sent[event.assignment_id, event.run] += 1
                    done = commit.seq >= last.seq
    result.commands = len(causes)
    fleet_invariants_of(fleet, result)
    result.complain("sent more than once", [key for key, count in sent.items() if count > 1])
    _compare_with_agents(result, sent, history, ledger_path)
    _time_offers(result, refilled, fleet, ledger_path, wiring)
    await _compare_with_tables(result, dsn, projection, tables, last.seq)
    return result


def fleet_invariants_of(fleet: Any, result: Audit) -> None:
    """The cheap ones: those that look at everything for each device are for small farms."""
    try:
        fleet_invariants._check_jobs(fleet)
        fleet_invariants._check_timers(fleet)
        fleet_invariants._check_assignments(fleet)
    except AssertionError as error:
        result.wrong.append(f"the state does not hold together: {error}")


def _compare_with_agents(result: Audit, sent: Counter[Any], history: History, path: Path) -> None:
    runs = msgspec.json.decode(path.read_bytes())["runs"]
    began = [(run["assignment_id"], run["run"]) for run in runs]
    result.complain("begun twice by agents", [key for key, count in Counter(began).items() if count > 1])
    result.complain("begun, but never sent", [key for key in began if key not in sent])
    recorded = {(run["assignment_id"], run["run"]) for run in runs if run.get("receipt") == "recorded"}
    result.complain("acknowledged to the agent, but not in the log", [k for k in recorded if k not in history.ended])


def _time_offers(
    result: Audit, refilled: dict[tuple[str, int], datetime], fleet: Any, path: Path, wiring: Wiring
) -> None:
    for run in msgspec.json.decode(path.read_bytes())["runs"]:
        filled_at = refilled.get((run["assignment_id"], run["run"]))
        if filled_at is not None and wiring.speech_of(fleet.devices[run["device_id"]].pc_id) != "http":
            began_at = datetime.fromisoformat(run["began_at"])
            result.freed_to_offer_s.append((began_at - filled_at).total_seconds())


def quantile(values: list[float], share: float) -> float | None:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else None


def _plain(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("{", "["):
        return msgspec.json.encode(msgspec.json.decode(value), order="deterministic")
    return tuple(value) if isinstance(value, list) else value


async def _compare_with_tables(result: Audit, dsn: str, projection: Any, tables: MemoryTables, seq: int) -> None:
    connection = await asyncpg.connect(dsn)
    try:

        async def caught_up() -> bool:
            found = await connection.fetchval("SELECT seq FROM drover.checkpoints WHERE schema = $1", projection.schema)
            return found == seq

        await eventually(caught_up, CATCH_UP_S, every_s=0.5)
        for table in projection.tables:
            columns = ", ".join(f'"{column}"' for column in table.columns)
            expected = Counter(tuple(map(_plain, row)) for row in tables.rows(table))
            async with connection.transaction():
                async for record in connection.cursor(f"SELECT {columns} FROM {projection.schema}.{table.name}"):
                    expected[tuple(map(_plain, record))] -= 1
            differing = [row for row, count in expected.items() if count]
            result.complain(f"rows of {table.name} that differ from a fold of the log", differing)
    finally:
        await connection.close()
