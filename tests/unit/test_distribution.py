"""Which worker of a test run gets which tests, and when."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests import distribution
from tests.distribution import ByFile, group_of

COLLECTED = [
    *("tests/browser/test_a.py::test_1", "tests/browser/test_b.py::test_1"),
    *("tests/e2e/test_c.py::test_1", "tests/e2e/test_d.py::test_1", "tests/e2e/test_d.py::test_2"),
    *("tests/integration/test_i.py::test_1", "tests/integration/test_j.py::test_1"),
    "tests/simulation/test_s.py::test_1",
    *("tests/unit/test_u.py::test_1", "tests/unit/test_v.py::test_1", "tests/unit/test_w.py::test_1"),
]


class Worker:
    """What the scheduler asks of a worker. It remembers the tests that it was given."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.shutting_down = False
        self.given: list[str] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        self.given += [COLLECTED[index] for index in indices]

    def shutdown(self) -> None:
        self.shutting_down = True


def scheduled(pytestconfig: pytest.Config, count: int) -> tuple[ByFile, list[Worker]]:
    option = SimpleNamespace(tx=[f"{count}*popen"], loadscopereorder=True)
    config = SimpleNamespace(option=option, getvalue=lambda name: getattr(option, name), hook=pytestconfig.hook)
    scheduler = ByFile(config, SimpleNamespace(loadscopesched=lambda *_: None))
    workers = [Worker(f"gw{number}") for number in range(count)]
    for worker in workers:
        scheduler.add_node(worker)
        scheduler.add_node_collection(worker, COLLECTED)
    scheduler.schedule()
    return scheduler, workers


def run_all(scheduler: ByFile, workers: list[Worker]) -> None:
    """These workers run what they have, and what they get for it."""
    done: dict[str, int] = {worker.gateway.id: 0 for worker in workers}
    while unfinished := [worker for worker in workers if done[worker.gateway.id] < len(worker.given)]:
        for worker in unfinished:
            nodeid = worker.given[done[worker.gateway.id]]
            done[worker.gateway.id] += 1
            scheduler.mark_test_complete(worker, COLLECTED.index(nodeid))


def test_all_tests_of_a_file_and_all_of_the_browser_are_a_group():
    assert [group_of(nodeid) for nodeid in COLLECTED] == [
        *("tests/browser/", "tests/browser/", "tests/e2e/test_c.py", "tests/e2e/test_d.py", "tests/e2e/test_d.py"),
        *("tests/integration/test_i.py", "tests/integration/test_j.py", "tests/simulation/test_s.py"),
        *("tests/unit/test_u.py", "tests/unit/test_v.py", "tests/unit/test_w.py"),
    ]


def test_one_worker_begins_with_tests_that_never_wait_and_the_others_with_the_longest(pytestconfig, monkeypatch):
    monkeypatch.setattr(distribution, "LEFT_FOR_THE_END", 2)
    scheduler, workers = scheduled(pytestconfig, 3)
    first, second, last = workers
    assert first.given[:2] == COLLECTED[:2]
    assert second.given[0] == "tests/e2e/test_c.py::test_1"
    assert last.given == ["tests/simulation/test_s.py::test_1", "tests/unit/test_u.py::test_1"]
    run_all(scheduler, [last])
    assert last.given[2:] == ["tests/integration/test_j.py::test_1", *COLLECTED[-2:]], "some are left for the end"


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 9])
def test_every_test_is_run_once(pytestconfig, count):
    scheduler, workers = scheduled(pytestconfig, count)
    run_all(scheduler, workers)
    assert sorted(nodeid for worker in workers for nodeid in worker.given) == sorted(COLLECTED)
    assert scheduler.tests_finished
