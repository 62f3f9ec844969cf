"""The tests leave nothing behind, also when they are killed: a worker that crashes, a CI job that runs out of time."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from drover.testing.waiting import eventually
from tests.e2e.process import END_S, PORTS, free_port, lives, ports_of_this_worker
from tests.e2e.up import READY_S

ROOT = Path(__file__).parents[2]
STARTS_A_PLATFORM = """
import sys
from pathlib import Path
from tests.e2e.up import Platform
print(Platform(Path(sys.argv[1]), from_scratch=sys.argv[2] == "True").pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("from_scratch", [True, False])
async def test_a_platform_ends_when_the_tests_that_started_it_are_killed(tmp_path, from_scratch):
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv (util-linux) is missing: without it nothing tells a platform that its parent has ended")
    argv = [sys.executable, "-c", STARTS_A_PLATFORM, tmp_path / "data", str(from_scratch)]
    with subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as tests:  # noqa: ASYNC220
        platform = psutil.Process(int(tests.stdout.readline()))
        started = {platform}

        def both_servers():
            started.update(platform.children(recursive=True))
            return {"nats-server", "postgres"} <= {*map(name_of, started)}

        try:
            await eventually(both_servers, READY_S, every_s=0.1)
            tests.kill()
            await eventually(lambda: not any(map(lives, started)), END_S)
        finally:
            tests.kill()
            for process in started:
                with suppress(psutil.NoSuchProcess):
                    process.kill()


def name_of(process):
    """None when it has ended: many that a start needs do, from one moment to the next."""
    try:
        return process.name() if lives(process) else None
    except psutil.NoSuchProcess:
        return None


def test_workers_share_no_port_and_leave_none_out():
    workers = 3
    each = [
        ports_of_this_worker({"PYTEST_XDIST_WORKER": f"gw{number}", "PYTEST_XDIST_WORKER_COUNT": str(workers)})
        for number in range(workers)
    ]
    assert sorted(port for ports in each for port in ports) == list(PORTS)
    assert ports_of_this_worker({}) == PORTS


def test_no_port_is_given_twice_even_if_nobody_listens_on_it_yet():
    given = [free_port() for _ in range(500)]
    assert len({*given}) == len(given)
