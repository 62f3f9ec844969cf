"""Runs the users' programs, those of one document on one platform, and reads what each says of its steps.

A platform for each document, because each is another user's: jobs of 000 would go to the phones of 002.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from tests.e2e.up import Platform
from tests.node_packages import node_with
from tests.seeds.neighbours import ISSUER, neighbours

HERE: Final = Path(__file__).parent
CLIENTS: Final = HERE.parent / "e2e" / "js"
PROGRAM_S: Final = 120.0
DOCUMENTS: Final = {
    "000": ("000_dashboard.mjs", "000_agent.mjs"),
    "001": ("001_backend.mjs", "001_cron.py", "001_session.mjs"),
    "002": ("002_runner.py",),
    "003": ("003_dashboard.mjs", "003_worker.py", "003_recovery.py", "003_sql.py"),
    "004": ("004_registration.mjs", "004_sender.mjs"),
}
"""The programs of each document, in the order in which they run."""
OWN_SETTINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "000": {"DROVER_ANON": "full"},  # its dashboard has no other key (4.1)
}
"""What the operator sets for one document's users only."""


class Step(NamedTuple):
    name: str
    """Section and what is done."""
    why: str | None = None
    """Why it failed. None: it did not."""


class Run(NamedTuple):
    """What a program said, and how it ended."""

    program: str
    steps: tuple[Step, ...]
    exit_code: int | None
    complaint: str

    def problems(self) -> Iterator[str]:
        if self.exit_code != 0:
            yield f"ended with {self.exit_code}: {self.complaint}"
        elif not self.steps:
            yield "said nothing"
        for name, times in Counter(step.name for step in self.steps).items():
            if times > 1:
                yield f"{times} steps are called {name!r}"
        for step in self.steps:
            if step.why is not None:
                yield f"FAIL {step.name}: {step.why}"


async def run_document(document: str, folder: Path) -> list[Run]:
    """Its programs one after the other, on a platform of their own."""
    async with neighbours() as beside:
        platform = Platform(folder / document, environ=_settings(beside) | OWN_SETTINGS.get(document, {}))
        try:
            await platform.ready()
            runs = [await _run(program, platform, beside) for program in DOCUMENTS[document]]
        finally:
            await platform.end()
    assert "Traceback" not in platform.output, platform.tail()
    return runs


def read_steps(said: str) -> Iterator[Step]:
    for line in said.splitlines():
        verdict, _, rest = line.partition(" ")
        if verdict == "ok":
            yield Step(rest)
        elif verdict == "FAIL":
            name, _, why = rest.partition(": ")
            yield Step(name, why)


def _settings(beside: str) -> dict[str, str]:
    """What the operator sets for these users. They keep their own sender of reminders, and Clerk."""
    return {
        "DROVER_JWKS_URL": f"{beside}/jwks",
        "DROVER_JWT_ISSUER": ISSUER,
        "DROVER_ANALYSIS_URL": f"{beside}/gemini",
        "DROVER_CLEANUP_CRON": "0 0 1 1 *",  # a cleanup by itself on the hour would take away what the programs count
        "DROVER_REMINDER_SENDS": "0",
        "DROVER_LOG_FORMAT": "plain",
    }


async def _run(program: str, platform: Platform, beside: str) -> Run:
    keys = platform.credentials
    environ = {
        "SUPABASE_URL": platform.url,
        "SUPABASE_ANON_KEY": keys["anon_key"],
        "SUPABASE_SERVICE_ROLE_KEY": keys["service_key"],
        "DATABASE_URL": keys["postgres_url"],
        "CRON_SECRET": keys["cron_secret"],
        "LOG_FILE": str(platform.data_dir.with_name(f"{platform.data_dir.name}.log")),
        "CLERK_URL": beside,
        "NEXRENDER_API_URL": beside,
    }
    process = await asyncio.create_subprocess_exec(
        _interpreter(program),
        str(HERE / program),
        env=os.environ | environ,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        said, complaint = await asyncio.wait_for(process.communicate(), PROGRAM_S)
    except TimeoutError:
        return Run(program, (), None, f"not done within {PROGRAM_S:g} s")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Run(program, tuple(read_steps(said.decode())), process.returncode, complaint.decode())


def _interpreter(program: str) -> str:
    if program.endswith(".py"):
        return sys.executable
    node = node_with(CLIENTS)
    with suppress(FileExistsError):  # Node looks for packages beside the program, and these are installed once
        (HERE / "node_modules").symlink_to(CLIENTS / "node_modules")
    return node
