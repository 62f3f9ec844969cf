"""A forked command is what an executed one is, to itself and to everybody else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest

from drover.cli.exits import Exit
from drover.testing.waiting import eventually
from tests.e2e.fork_server import ROOT, ForkedProcess, can_fork
from tests.e2e.process import END_S, _executed, lives

ASKS = """
import asyncio, os, signal, sys, time
print(sys.argv[1:], os.getcwd(), os.environ, os.getpgrp() == os.getpid(), os.getpriority(os.PRIO_PROCESS, 0))
print(__name__, __file__, sys.modules["__main__"].__file__, sys.path, time.tzname, os.umask(0o22))
print([signal.getsignal(number) for number in sorted(signal.valid_signals())])
print(sorted(map(int, os.listdir("/proc/self/fd")))[:-1], os.readlink("/proc/self/fd/0"), sys.stdin.read())
print("to the error output", file=sys.stderr)
sys.exit(7)
"""
WAITS = "import signal\nprint('waits', flush=True)\nsignal.pause()\n"
FORKS_ONE = """
import sys
from pathlib import Path
from tests.e2e.fork_server import ForkedProcess
with Path(sys.argv[2]).open("wb") as output:
    print(ForkedProcess([sys.argv[1]], {}, output).pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def started(tmp_path):
    """Start a script as a command is started; the process and its output. None of them outlives the test."""
    processes = []

    def start(how, script, *arguments, **environ):
        (tmp_path / "script").write_text(script)
        (tmp_path / "script").chmod(0o755)
        output = tmp_path / f"{how.__name__}.log"
        argv = [tmp_path / "script", *arguments]
        with output.open("wb") as file:
            processes.append(process := how(argv, {**os.environ, **environ}, file))
        return process, output

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.wait()


def test_it_finds_what_an_executed_one_finds(started):
    said = []
    for how in (_executed, ForkedProcess):
        process, output = started(how, f"#!{sys.executable}\n{ASKS}", "a", "b c", TZ="Asia/Seoul", ONLY="this one")
        assert process.wait() == 7
        said.append(output.read_text())
    executed, forked = said
    assert "'a', 'b c'" in forked and "this one" in forked and "KST" in forked and "to the error output" in forked
    assert forked == executed


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda number: number.name)
async def test_a_signal_ends_it_and_is_its_exit_code(started, number):
    process, output = started(ForkedProcess, WAITS)
    await eventually(lambda: "waits" in output.read_text(), END_S)
    assert process.poll() is None
    os.kill(process.pid, number)
    await eventually(lambda: process.poll() is not None, END_S)
    assert process.poll() == process.wait() == -number


async def test_it_ends_with_the_tests_however_they_end(started, tmp_path):
    (tmp_path / "waits").write_text(WAITS)
    argv = [sys.executable, "-c", FORKS_ONE, tmp_path / "waits", tmp_path / "log"]
    with subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as tests:  # noqa: ASYNC220
        command = psutil.Process(int(tests.stdout.readline()))
        server = command.parent()
        try:
            await eventually(lambda: "waits" in (tmp_path / "log").read_text(), END_S)
            tests.kill()
            await eventually(lambda: not lives(command) and not lives(server), END_S)
        finally:
            for process in filter(lives, (command, server)):
                process.kill()


def test_what_takes_effect_before_a_fork_is_started_from_scratch():
    assert can_fork(os.environ)
    assert not can_fork({**os.environ, "PYTHONHASHSEED": "1"})
    assert not can_fork({name: value for name, value in os.environ.items() if name != "PATH"} | {"LC_ALL": "ko_KR"})


def test_a_command_says_by_its_exit_code_what_was_wrong(tmp_path):
    from tests.e2e.process import DROVER

    with (tmp_path / "log").open("wb") as file:
        assert ForkedProcess([DROVER, "no-such-command"], os.environ, file).wait() == Exit.USAGE
    assert "No such command" in (tmp_path / "log").read_text()
