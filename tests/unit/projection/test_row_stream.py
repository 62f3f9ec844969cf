"""What a projector tells of a batch: rows, or that there are too many; and that nothing holds it up."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from drover.projection import row_stream
from drover.projection.batch import Changes
from drover.projection.presence_rows import ROWS_PER_TURN_MAX, TURN_S, PresenceRows
from drover.projection.row_stream import HEARTBEAT_S, PUBLISH_TIMEOUT_S, RowStream, changed_keys
from drover.readmodel.fleet import FLEET
from drover.readmodel.models import LIVE
from drover.readmodel.table import KeyedTable
from drover.testing.virtual_time import run_virtually
from tests.rows import RecordedRows, decoded

ID = "00000000-0000-0000-0000-00000000000"


def changes(
    *, upserts: dict[str, list[str]] | None = None, deletes: dict[str, list[str]] | None = None, model: Any = FLEET
) -> Changes:
    """Of a batch; records have nothing but their key."""
    made = Changes({}, {}, {})
    for table in model.tables:
        records = [
            tuple(key if c in table.key else None for c in table.columns) for key in (upserts or {}).get(table.name, [])
        ]
        if isinstance(table, KeyedTable):
            made.upserts[table.name] = records
            made.deletes[table.name] = (deletes or {}).get(table.name, [])
        else:
            made.appends[table.name] = records
    return made


class Term:
    """A stream over rows that say how often they were selected."""

    def __init__(self, at: int = 100, presence: PresenceRows | None = None) -> None:
        self.published = RecordedRows()
        self.selected: list[tuple[str, list[Any]]] = []
        self.delay_s = 0.0
        self.stream = RowStream(
            "fleet",
            "main",
            FLEET.live,
            publish=self.published,
            select=self._select,
            at=at,
            presence=presence,
            clock=lambda: asyncio.get_running_loop().time(),
        )

    async def _select(self, wanted):
        await asyncio.sleep(self.delay_s)
        self.selected += [(live.name, keys) for live, keys in wanted.items()]
        return {live: [msgspec.json.encode({"id": key}).decode() for key in keys] for live, keys in wanted.items()}


def chain(messages):
    return [(message.after, message.to) for message in messages]


@pytest.fixture
def virtually():
    return run_virtually


def test_changed_rows_are_selected_again_and_told_with_what_they_follow_on(virtually):
    async def main():
        term = Term(at=100)
        await term.stream.beat()
        await term.stream.written(changes(upserts={"job_rows": [ID + "1"]}), 105, 0)
        await term.stream.written(changes(upserts={"pc_rows": ["pc"]}), 107, 0)
        await term.stream.written(changes(deletes={"job_rows": [ID + "1"]}), 110, 0)
        published = term.published
        assert chain(published.of("jobs")) == chain(published.of("tasks")) == [(100, 105), (105, 110)]
        assert chain(published.of("workers")) == [(100, 107)]
        first, second = published.of("jobs")
        assert (decoded(first), first.gone) == ([{"id": ID + "1"}], [])
        assert (second.rows, second.gone) == ([], [[ID + "1"]])
        assert {message.epoch for _, message in published.changes} == {term.stream.epoch}

    virtually(main())


def test_all_rows_of_a_batch_are_selected_at_once_and_the_last_message_says_that_no_more_follow(virtually):
    async def main():
        term = Term(at=0)
        selects = []
        select = term._select

        async def counted(wanted):
            selects.append({live.name for live in wanted})
            return await select(wanted)

        term.stream._select = counted
        await term.stream.written(changes(upserts={"pc_rows": ["a"], "job_rows": [ID + "1"]}), 1, 0)
        assert selects == [{"workers", "jobs", "tasks"}]
        assert [message.more for _, message in term.published.changes] == [True, True, False]

    virtually(main())


def test_a_part_of_a_row_changes_the_row():
    (runs,) = LIVE["cleanup_runs"]
    (found,) = LIVE["cleanup_run_tests"]
    batch = Changes({"cleanup_run_tests": []}, {"run_rows": []}, {"run_rows": []})
    batch.appends["cleanup_run_tests"] = [tuple(f"a {name}" for name in found.table.columns)] * 2
    assert changed_keys(runs, batch).keys == ["a run_id"]


def test_heartbeats_come_each_second_and_say_what_was_told_last(virtually):
    async def main():
        term = Term(at=100)
        await term.stream.beat()
        await term.stream.written(changes(upserts={"pc_rows": ["pc"]}), 101, 0)
        assert len(term.published.heartbeats) == 1
        await asyncio.sleep(HEARTBEAT_S)
        await term.stream.written(changes(), 102, 0)
        first, second = term.published.heartbeats
        assert (first.seq, {*first.last.values()}) == (100, {100})
        assert (second.seq, second.last["workers"], second.last["jobs"]) == (102, 101, 100)

    virtually(main())


def test_while_it_is_behind_nothing_is_selected_and_resets_have_a_bounded_rate(virtually):
    async def main():
        term = Term(at=0)
        await term.stream.beat()
        for seq in range(1, 301):
            await term.stream.written(changes(upserts={"pc_rows": ["pc"]}), seq, 5)
            await asyncio.sleep(HEARTBEAT_S / 100)
        assert term.selected == []
        resets = term.published.of("workers")
        assert all(message.reset for message in resets)
        assert 2 <= len(resets) <= 4
        assert not term.published.of("jobs")
        await term.stream.written(changes(upserts={"pc_rows": ["pc"]}), 301, 0)
        await term.stream.beat()
        await term.stream.written(changes(upserts={"pc_rows": ["pc"]}), 302, 0)
        told = term.published.of("workers")
        assert [message.after for message in told[1:]] == [message.to for message in told[:-1]], "no hole"
        assert [message.reset for message in told[-2:]] == [True, False]
        assert len(term.selected) == 1

    virtually(main())


@pytest.mark.parametrize("bound", ["rows", "bytes"])
def test_too_much_for_a_message_is_a_reset(virtually, monkeypatch, bound):
    async def main():
        monkeypatch.setattr(row_stream, "ROWS_PER_BATCH_MAX" if bound == "rows" else "MESSAGE_BYTES_MAX", 3)
        term = Term(at=0)
        await term.stream.written(changes(upserts={"pc_rows": ["a", "b", "c", "d"]}), 1, 0)
        await term.stream.beat()
        (message,) = term.published.of("workers")
        assert (message.reset, message.after, message.to) == (True, 0, 1)

    virtually(main())


def test_a_row_that_the_view_does_not_show_is_a_reset(virtually, monkeypatch):
    async def main():
        term = Term(at=0)

        async def nothing(wanted):
            return {live: [] for live in wanted}

        term.stream._select = nothing
        await term.stream.written(changes(upserts={"pc_rows": ["a"]}), 1, 0)
        assert term.published.of("workers")[0].reset

    virtually(main())


@pytest.mark.parametrize("fault", ["fails", "hangs"])
def test_a_message_that_cannot_be_sent_holds_up_nobody_and_leaves_a_hole_that_can_be_seen(virtually, fault):
    async def main():
        async def fail():
            term.published.fault = None
            if fault == "fails":
                raise ConnectionError("away")
            await asyncio.sleep(3600)

        term = Term(at=0)
        await term.stream.beat()
        term.published.fault = fail
        began = asyncio.get_running_loop().time()
        await term.stream.written(changes(upserts={"pc_rows": ["a"]}), 1, 0)
        assert asyncio.get_running_loop().time() - began <= PUBLISH_TIMEOUT_S
        await term.stream.beat()
        await term.stream.written(changes(upserts={"pc_rows": ["a"]}), 2, 0)
        assert term.published.heartbeats[-1].last["workers"] == 1
        assert chain(term.published.of("workers")) == [(1, 2)]

    virtually(main())


def test_a_slow_select_is_cut_short(virtually):
    async def main():
        term = Term(at=0)
        term.delay_s = 60.0
        began = asyncio.get_running_loop().time()
        await term.stream.written(changes(upserts={"pc_rows": ["a"]}), 1, 0)
        assert asyncio.get_running_loop().time() - began <= PUBLISH_TIMEOUT_S
        assert not term.published.changes
        assert term.published.heartbeats[-1].last["workers"] == 1

    virtually(main())


def test_each_term_has_an_epoch_of_its_own(virtually):
    async def main():
        assert Term().stream.epoch != Term().stream.epoch

    virtually(main())


def test_rows_of_devices_that_were_seen_are_told_at_the_last_position(virtually):
    async def main():
        presence = PresenceRows("devices")
        term = Term(100, presence)
        await term.stream.written(changes(upserts={"device_rows": [ID + "1"]}), 105, 0)
        presence.seen([ID + "2"])
        await asyncio.sleep(HEARTBEAT_S)
        await term.stream.beat()
        await term.stream.written(changes(upserts={"device_rows": [ID + "1"]}), 110, 0)
        assert chain(term.published.of("devices")) == [(100, 105), (105, 105), (105, 110)]
        assert decoded(term.published.of("devices")[1]) == [{"id": ID + "2"}]

    virtually(main())


@pytest.mark.parametrize("every_s", [0.03, 0.1, 0.5, 1.0])
def test_presence_is_spread_over_the_batches_of_a_second_and_as_much_is_told_however_often_they_come(
    virtually, every_s
):
    async def main():
        presence = PresenceRows("devices")
        term = Term(100, presence)
        presence.seen(f"00000000-0000-0000-0000-{n:012d}" for n in range(5_000))
        loop = asyncio.get_running_loop()
        seq, until, most = 100, loop.time() + 5.0, 0
        while loop.time() < until:
            await asyncio.sleep(every_s)
            seq += 1
            before = len(term.selected)
            await term.stream.written(changes(), seq, 0)
            most = max(most, len(term.selected) - before)
        told = sum(len(keys) for _, keys in term.selected)
        assert told == pytest.approx(5.0 * ROWS_PER_TURN_MAX / TURN_S, abs=2 * ROWS_PER_TURN_MAX)
        assert most <= max(2, every_s / TURN_S + 1)

    virtually(main())


def test_presence_that_cannot_be_sent_is_no_gap_and_holds_up_neither_heartbeats_nor_rows(virtually):
    async def main():
        presence = PresenceRows("devices")
        term = Term(100, presence)
        presence.seen([ID + "2"])
        term.delay_s = 100.0
        before = asyncio.get_running_loop().time()
        await term.stream.beat()
        assert asyncio.get_running_loop().time() - before <= PUBLISH_TIMEOUT_S
        assert len(term.published.heartbeats) == 1
        term.delay_s = 0.0
        await term.stream.written(changes(upserts={"device_rows": [ID + "1"]}), 105, 0)
        assert chain(term.published.of("devices")) == [(100, 105)]

    virtually(main())


def test_while_it_is_behind_nothing_is_selected_for_presence(virtually):
    async def main():
        presence = PresenceRows("devices")
        term = Term(100, presence)
        await term.stream.written(changes(), 105, 7)
        presence.seen([ID + "2"])
        await term.stream.beat()
        assert term.selected == []
        await term.stream.written(changes(), 112, 0)
        await term.stream.beat()
        assert term.selected == [("devices", [ID + "2"])]

    virtually(main())


def test_a_message_says_which_of_its_rows_are_new(virtually):
    async def main():
        term = Term(at=100)
        await term.stream.beat()
        batch = changes(upserts={"job_rows": [ID + "1", ID + "2"]})
        batch.created["job_rows"] = [ID + "2"]
        await term.stream.written(batch, 105, 0)
        (message,) = term.published.of("jobs")
        assert len(message.rows) == 2
        assert message.new == [[ID + "2"]]
        assert message.at is not None

    virtually(main())


def test_a_row_that_is_appended_is_new_but_not_the_row_that_it_is_a_part_of():
    (runs,) = LIVE["cleanup_runs"]
    (found,) = LIVE["cleanup_run_tests"]
    batch = Changes({"cleanup_run_tests": []}, {"run_rows": []}, {"run_rows": []})
    batch.appends["cleanup_run_tests"] = [tuple(f"a {name}" for name in found.table.columns)]
    assert changed_keys(runs, batch).new == []
    assert changed_keys(found, batch).new == changed_keys(found, batch).keys == ["a id"]
