"""What an agent keeps outlives it: one set of sentences for each store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from drover.agent.clock import Clock
from drover.agent.protocol import Report
from drover.agent.store import FileStore, Kept, MemoryStore
from drover.simulator.shelf import Shelf

from .world import offer

KEPT = Kept(offer(run=3), begun=True, started_at=5.0, worked_s=12.5, progress_pct=40)
FINAL = Report("A", 3, "completed", progress_pct=100, completed_at=50.0)
SECOND = timedelta(seconds=1)


@pytest.fixture(params=["memory", "file"])
def store(request, tmp_path):
    return MemoryStore() if request.param == "memory" else FileStore(tmp_path / "phone.json", Clock())


@pytest.mark.req("DF-27")
def test_what_was_kept_last_is_recalled_until_it_is_forgotten(store):
    assert store.recall() is None
    store.keep(KEPT)
    later = Kept(KEPT.offer, True, 5.0, 30.0, 90)
    store.keep(later)
    recalled = store.recall()
    assert recalled.started_at == pytest.approx(5.0, abs=1e-3)
    assert (recalled.offer, recalled.progress_pct, recalled.worked_s) == (KEPT.offer, 90, 30.0)
    store.forget()
    store.forget()
    assert store.recall() is None


@pytest.mark.req("DF-27")
def test_a_file_means_the_same_to_the_next_process(tmp_path):
    path = tmp_path / "phone.json"
    first, second = Clock(), Clock()
    second._began_at = first._began_at + 1000  # it started a good quarter of an hour later
    FileStore(path, first).keep(Kept(KEPT.offer, True, 5.0, 30.0, 90, FINAL))
    recalled = FileStore(path, second).recall()
    assert recalled.started_at == pytest.approx(5 - 1000, abs=1e-3)
    assert second.wall(recalled.final.completed_at) == first.wall(50.0)
    assert recalled.final.status == "completed"


def test_a_file_is_replaced_whole_and_private(tmp_path):
    store = FileStore(tmp_path / "phone.json", Clock())
    store.keep(KEPT)
    store.keep(KEPT)
    assert [path.name for path in tmp_path.iterdir()] == ["phone.json"]
    assert (tmp_path / "phone.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"{", b'{"kept": 1}', b"\xff" * 100])
def test_a_file_that_cannot_be_read_is_no_memory(tmp_path, content):
    (tmp_path / "phone.json").write_bytes(content)
    assert FileStore(tmp_path / "phone.json", Clock()).recall() is None


@pytest.mark.req("DF-27")
def test_a_shelf_keeps_what_all_phones_hold_until_the_next_program(tmp_path):
    path = tmp_path / "progress.json"
    first = Shelf(path, Clock())
    stores = {serial: first.store_of(serial) for serial in ("S1", "S2", "S3")}
    stores["S1"].keep(KEPT)
    stores["S2"].keep(KEPT)
    stores["S2"].forget()
    first.save()
    second = Shelf(path, Clock())
    assert second.store_of("S1").recall().progress_pct == 40
    assert second.store_of("S2").recall() is None
    path.write_bytes(b"nonsense")
    assert Shelf(path, Clock()).store_of("S1").recall() is None


def test_the_clock_knows_which_moment_each_second_was():
    clock = Clock(speed=10)
    began, began_at = clock.now(), datetime.now(UTC)
    now = clock.now()
    ended_at, ended = datetime.now(UTC), clock.now()
    assert began_at - SECOND < clock.wall(now) < ended_at + SECOND
    assert clock.at(clock.wall(now)) == pytest.approx(now, abs=1e-3)
    assert (clock.wall(100) - clock.wall(0)).total_seconds() == pytest.approx(10)
    assert began - 10 < clock.at(began_at) <= clock.at(ended_at) < ended + 10
    assert clock.at(began_at) - clock.at(began_at - 60 * SECOND) == pytest.approx(600, abs=1e-3)
