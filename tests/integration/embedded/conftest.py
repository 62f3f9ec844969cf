"""What the tests of the embedded servers share: waiting for a condition, finding processes, a parent of servers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from drover.embedded.nats import NatsServer
from drover.embedded.postgres import PostgresServer
from tests.e2e.process import ends_with_us

EVENTUALLY_S = 60.0
POLL_S = 0.02


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], None]:
    def wait(condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + EVENTUALLY_S
        while not condition():
            assert time.monotonic() < deadline, f"not so within {EVENTUALLY_S} s"
            time.sleep(POLL_S)

    return wait


@pytest.fixture
def processes_of(data_dir: Path) -> Callable[[], list[str]]:
    """Command lines of the processes, but for this one, that have to do with the data directory. Zombies are dead."""

    def find() -> list[str]:
        found = []
        for process in psutil.process_iter(["pid", "cmdline", "cwd", "status"]):
            facts = process.info
            command = " ".join(facts["cmdline"] or [])
            ours = str(data_dir) in command or (facts["cwd"] or "").startswith(str(data_dir))
            if ours and facts["pid"] != os.getpid() and facts["status"] != psutil.STATUS_ZOMBIE:
                found.append(f"{facts['pid']} {command}")
        return found

    return find


class Holder:
    """A process that holds a data directory and both servers, and what it said about them."""

    def __init__(self, data_dir: Path) -> None:
        script = Path(__file__).with_name("holder.py")
        argv = ends_with_us([sys.executable, script, data_dir])
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, process_group=0)
        self.up = self.next_line()

    def next_line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def interrupt_as_a_terminal_does(self) -> None:
        os.killpg(self.process.pid, signal.SIGINT)

    def kill(self, *also: int) -> None:
        for pid in (*also, self.process.pid):
            os.kill(pid, signal.SIGKILL)
        self.process.wait(EVENTUALLY_S)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(EVENTUALLY_S)


@pytest.fixture
def hold(data_dir: Path) -> Iterator[Callable[[], Holder]]:
    held: list[Holder] = []

    def start() -> Holder:
        held.append(Holder(data_dir))
        return held[-1]

    yield start
    for holder in held:
        holder.close()


@pytest.fixture(scope="session")
def nats(embedded_nats: NatsServer) -> NatsServer:
    """The embedded one, also with CONTAINERS=1: it is what the tests here are about."""
    return embedded_nats


@pytest.fixture(scope="session")
def postgres(embedded_postgres: PostgresServer) -> PostgresServer:
    """The embedded one, as `nats`."""
    return embedded_postgres
