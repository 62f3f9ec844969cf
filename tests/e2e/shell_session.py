"""One bash for the blocks of a page, in order: what one block sets, the next one has.

It stops at the first command that fails and at the first variable that nobody has set, and it notes the status of every
answer that curl gets. Apart from that it is the shell of somebody who pastes the blocks into a terminal.
"""

from __future__ import annotations

import asyncio
import os
import re
import select
import subprocess
import sys
from pathlib import Path
from typing import Final
from uuid import uuid4

import psutil

from drover.testing.waiting import eventually
from tests.e2e.process import lives

VENV: Final = Path(sys.prefix)
BLOCK_S: Final = 120.0
OUTPUT_S: Final = 120.0
END_S: Final = 30.0
MARK: Final = "DOCS_SHELL"
"""In the environment of all that descends from a session: what is left can be found even when the shell is gone."""

BASH: Final = r"""
set -eumo pipefail
shopt -s inherit_errexit
interrupt_jobs() { for _job in $(jobs -p); do kill -INT -- "-$_job"; done; wait; }
trap 'echo "failed: $BASH_COMMAND" >&2' ERR
trap interrupt_jobs EXIT
while read -r _how _block; do
  case $_how in
    run) source "$_block" </dev/null >"$_block.out" 2>"$_block.err" ;;
    start) source "$_block" </dev/null >"$_block.out" 2>"$_block.err" & ;;
  esac
  echo done
done
"""

CURLRC: Final = r'write-out = "%{stderr}\nanswer: %{http_code} %{method} %{url}\n"'
_ANSWER: Final = re.compile(r"^answer: (\d{3}) (.*)$", re.MULTILINE)


class Failed(AssertionError):
    """A block did not do what its page says."""


class Ran:
    """What a block wrote."""

    def __init__(self, stdout: str, stderr: str) -> None:
        self.stdout: Final = stdout
        self.stderr: Final = stderr
        self.answers: Final[list[tuple[str, str]]] = _ANSWER.findall(stderr)

    def __str__(self) -> str:
        return f"{self.stdout}\n{self.stderr}"


class ShellSession:
    """Started when made, in a directory that has a `.venv`, as a checkout has after `make setup`. `end` it."""

    def __init__(self, directory: Path, written: Path) -> None:
        self._written = written
        self._blocks = 0
        self._token = uuid4().hex
        self.home: Final = written / "home"
        self.home.mkdir(parents=True)
        (self.home / ".curlrc").write_text(CURLRC)
        if not (directory / ".venv").exists():
            (directory / ".venv").symlink_to(VENV)
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc", "-c", BASH],
            cwd=directory,
            env=_environment() | {"HOME": str(self.home), MARK: self._token},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def run(self, text: str) -> Ran:
        """Run a block to its end."""
        return self._read(self._send("run", text))

    def start(self, text: str, ready: str) -> None:
        """Run a block as in another terminal, and go on when this is in its output."""
        block = self._send("start", text)
        output = Path(f"{block}.out")
        try:
            asyncio.run(eventually(lambda: re.search(ready, output.read_text()), OUTPUT_S, every_s=0.05))
        except TimeoutError:
            raise Failed(f"{ready!r} was not printed within {OUTPUT_S:g} s:\n{self._read(block)}") from None

    def end(self) -> None:
        """Ctrl-C for whatever still runs. Nothing may be left of it."""
        assert self._bash.stdin is not None and self._bash.stdout is not None
        try:
            self._bash.stdin.close()
            self._bash.wait(END_S)
            left = [" ".join(process.cmdline()) for process in self._descendants()]
            assert not left, f"left behind: {left}"
        finally:
            for process in self._descendants():
                process.kill()
            self._bash.kill()
            self._bash.wait()
            self._bash.stdout.close()

    def _send(self, how: str, text: str) -> Path:
        assert self._bash.stdin is not None and self._bash.stdout is not None
        self._blocks += 1
        block = self._written / f"{self._blocks:02}"
        block.write_text(text)
        for name in ("out", "err"):
            Path(f"{block}.{name}").touch()  # before anybody looks for what the shell writes there
        self._bash.stdin.write(f"{how} {block}\n".encode())
        self._bash.stdin.flush()
        answered, _, _ = select.select([self._bash.stdout], [], [], BLOCK_S)
        if not answered:
            raise Failed(f"not done within {BLOCK_S:g} s:\n{self._read(block)}")
        if not self._bash.stdout.readline():
            raise Failed(f"{self._read(block)}")
        return block

    @staticmethod
    def _read(block: Path) -> Ran:
        return Ran(*(Path(f"{block}.{name}").read_text(errors="replace") for name in ("out", "err")))

    def _descendants(self) -> list[psutil.Process]:
        return [process for process in psutil.process_iter() if lives(process) and self._started(process)]

    def _started(self, process: psutil.Process) -> bool:
        try:
            return process.environ().get(MARK) == self._token
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            return False


def _environment() -> dict[str, str]:
    """That of a new terminal: without settings of Drover, and with no virtual environment."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("DROVER_", "VIRTUAL_ENV"))}
    path = [part for part in inherited["PATH"].split(os.pathsep) if Path(part) != VENV / "bin"]
    return inherited | {"PATH": os.pathsep.join(path)}
