"""`drover doctor`: checks the machine and the platform, and says what to fix."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from nats.errors import Error as NatsError
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from drover.cli.checks import alerts, checklist, copies, log_room, machine, platform, reminders, retention, sealing
from drover.cli.checks.finding import Check, Finding, Scene, Verdict, fail
from drover.cli.exits import Exit
from drover.cli.options import DATA_DIR_DEFAULT
from drover.cli.output import console, print_json, printable
from drover.cli.running import asynchronous
from drover.cli.target import Target, find_target, nats_of, postgres_of
from drover.domain.errors import DroverError
from drover.postgres.errors import POSTGRES_AWAY

CHECK_S: Final = 15.0

T = TypeVar("T")

CHECKS: Final[tuple[tuple[str, Check], ...]] = (
    ("Python", machine.python),
    ("nats-server", machine.nats_program),
    ("postgres", machine.postgres_program),
    ("root", machine.root_can_step_down),
    ("data directory", machine.data_directory),
    ("disk space", machine.disk_space),
    ("configuration", machine.configuration),
    ("HTTP port", machine.http_port),
    ("NATS", platform.nats_answers),
    ("durability", platform.servers_sync),
    ("streams", platform.streams),
    ("copies", copies.streams_are_copied),
    ("room in the logs", log_room.logs_have_room),
    ("archive", retention.old_commits_are_archived),
    ("clock", platform.clock),
    ("writers", platform.writers_accept),
    ("PostgreSQL", platform.postgres_answers),
    ("migrations", platform.migrations),
    ("cron secret", checklist.cron_secret),
    ("cleanup", checklist.cleanup_is_scheduled),
    ("cleanup endpoint", checklist.cleanup_answers),
    ("cleanup time-out", checklist.cleanup_timeout),
    ("token checks", checklist.tokens_are_checked),
    ("issuer", checklist.issuer_has_keys),
    ("sign-in", checklist.people_can_sign_in),
    ("sealing keys", sealing.sealing_keys_are_there),
    ("HTTPS", checklist.https_beyond_here),
    ("reminders", reminders.reminders_are_sent),
    ("alerts", alerts.alerts_are_told),
    ("log level", checklist.log_level),
    ("health endpoint", checklist.health_answers),
)

_MARKS: Final = {
    Verdict.OK: ("✓", "green"),
    Verdict.WARN: ("!", "yellow"),
    Verdict.FAIL: ("✗", "bold red"),
    Verdict.SKIPPED: ("–", "dim"),
}


class Line(msgspec.Struct, frozen=True):
    """What `doctor --json` prints for each check."""

    check: str
    verdict: Verdict
    found: str
    remedy: str


class Report(msgspec.Struct, frozen=True):
    healthy: bool
    checks: list[Line]


@asynchronous
async def doctor(as_json: bool, data_dir: Path | None) -> Exit:
    async with _scene(data_dir, os.environ) as scene:
        report = await examine(scene)
    if as_json:
        print_json(report)
    else:
        console().print(rendered(report))
    return Exit.OK if report.healthy else Exit.FAILED


@asynccontextmanager
async def _scene(data_dir: Path | None, environ: Mapping[str, str]) -> AsyncIterator[Scene]:
    """Connect to the parts of the platform. A part that cannot be reached is represented by its error."""
    try:
        target: Target | DroverError = find_target(data_dir, environ)
    except DroverError as error:
        target = error
    async with AsyncExitStack() as stack:
        yield Scene(
            data_dir=data_dir or DATA_DIR_DEFAULT,
            environ=environ,
            target=target,
            nats=await _reached(stack, target, nats_of),
            postgres=await _reached(stack, target, postgres_of),
        )


async def _reached(
    stack: AsyncExitStack, target: Target | DroverError, reach: Callable[[Target], AbstractAsyncContextManager[T]]
) -> T | DroverError:
    if isinstance(target, DroverError):
        return target
    try:
        return await stack.enter_async_context(reach(target))
    except DroverError as error:
        return error


async def examine(scene: Scene, checks: Sequence[tuple[str, Check]] = CHECKS) -> Report:
    """Run the checks one after the other. An unexpected exception of a check becomes a finding."""
    lines = []
    for name, check in checks:
        finding = await _bounded(check, scene)
        lines.append(Line(name, finding.verdict, finding.found, finding.remedy))
    return Report(not any(line.verdict is Verdict.FAIL for line in lines), lines)


async def _bounded(check: Check, scene: Scene) -> Finding:
    try:
        async with asyncio.timeout(CHECK_S):
            return await check(scene)
    except TimeoutError:
        return fail(f"no answer within {CHECK_S:g} s", "Try again; if it happens again, look at the server's log.")
    except (DroverError, NatsError, *POSTGRES_AWAY) as error:
        return fail(f"the check itself failed: {type(error).__name__}", str(error))


def rendered(report: Report) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for line in report.checks:
        mark, style = _MARKS[line.verdict]
        said = Text(printable(line.found), "dim" if line.verdict is Verdict.SKIPPED else "")
        table.add_row(Text(mark, style), Text(line.check), said)
        if line.remedy:
            table.add_row("", "", Text(f"→ {printable(line.remedy)}", style))
    counts = Counter(line.verdict for line in report.checks)
    table.add_row()
    table.add_row("", "", Text(", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict), "bold"))
    return table
