"""A tiny process between Drover and one server, so that no server outlives Drover. Standard library only, for speed.

    python guard.py INT:10,KILL:5 nats-server -c nats.conf

It starts the server and writes its pid to standard output. When standard input ends (Drover is gone, however it ended)
or SIGTERM arrives, it sends the signals of its first argument in turn; INT:10 means SIGINT, then up to 10 seconds for
the server to end. The guard exits when the server exits, with the server's exit code (128 + n for signal n), so that
Drover notices a death.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import subprocess
import sys
import time
from types import FrameType
from typing import Final

PARENT_CHECK_S: Final = 1.0  # how often to look for a new parent: a fork of Drover may hold our input open
CANNOT_START: Final = 127
SIGNALLED: Final = 128


def main(arguments: list[str]) -> int:
    steps = [
        (signal.Signals[f"SIG{name}"], float(s)) for name, s in (step.split(":") for step in arguments[0].split(","))
    ]
    parent = os.getppid()
    wake = _wake_on_signals()
    try:
        # Our standard output belongs to the parent; our standard error is the log file, also for the server.
        server = subprocess.Popen(arguments[1:], stdin=subprocess.DEVNULL, stdout=sys.stderr)  # noqa: S603
    except OSError as error:
        sys.stderr.write(f"{arguments[1]} cannot be started: {error}\n")
        return CANNOT_START
    with contextlib.suppress(BrokenPipeError):  # the parent is gone: we notice that below, when standard input ends
        os.write(1, f"{server.pid}\n".encode())

    watched = [0, wake]
    next_step_at = math.inf
    while server.poll() is None:
        if time.monotonic() >= next_step_at:
            number, seconds = steps.pop(0)
            server.send_signal(number)
            next_step_at = time.monotonic() + seconds if steps else math.inf
        wait_s = min(PARENT_CHECK_S, max(0.0, next_step_at - time.monotonic()))
        readable, _, _ = select.select(watched, [], [], wait_s)
        stop = os.getppid() != parent
        if wake in readable:
            stop |= signal.SIGTERM in os.read(wake, 4096)
        if 0 in readable and not os.read(0, 4096):
            watched.remove(0)
            stop = True
        if stop and steps and next_step_at == math.inf:
            next_step_at = time.monotonic()
    return server.returncode if server.returncode >= 0 else SIGNALLED - server.returncode


def _wake_on_signals() -> int:
    """Return a descriptor that receives the number of every signal.

    The guard catches signals instead of ignoring them: a child process inherits ignored signals, and the server must
    react to them.
    """
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, _do_nothing)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    return read


def _do_nothing(number: int, frame: FrameType | None) -> None:
    pass


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
