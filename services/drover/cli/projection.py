"""`drover verify` compares read models with the log, and `drover projection rebuild` builds them again from it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from drover.archive.read_models import forget_read_models
from drover.cli.bar import bar
from drover.cli.exits import Exit
from drover.cli.logs import logs_of
from drover.cli.output import console, print_json, printable
from drover.cli.running import asynchronous
from drover.cli.target import Target, find_target, nats_of, postgres_of
from drover.eventlog.histories import OfAnotherHistory
from drover.projection.checkpoint import refuse_other_logs
from drover.projection.difference import TableReport, total
from drover.projection.projection import Projection
from drover.projection.rebuild import Outcome, Rebuild
from drover.projection.rebuild_progress import on_record
from drover.projection.verify import Report, verify
from drover.projector.app import PROJECTIONS

EXAMPLES_SHOWN = 20


@asynchronous
async def verify_command(names: tuple[str, ...], as_json: bool, data_dir: Path | None) -> Exit:
    target = find_target(data_dir)
    reports: list[Report] = []
    async with nats_of(target) as client:
        for projection in _chosen(names):
            logs = await logs_of(client, projection.context)
            with bar(f"verify {projection.name}", quiet=as_json) as progress:
                reports.append(await verify(projection, logs, target.postgres_url, progress))
    if as_json:
        for report in reports:
            print_json(report)
    else:
        for report in reports:
            _print(report.projection, report.positions, report.tables)
    return Exit.FAILED if any(total(report.tables) for report in reports) else Exit.OK


@asynchronous
async def rebuild(names: tuple[str, ...], dry_run: bool, as_json: bool, data_dir: Path | None) -> Exit:
    target = find_target(data_dir)
    for chosen in _chosen(names):
        outcome = await _rebuild(chosen, target, dry_run=dry_run, quiet=as_json)
        if as_json:
            print_json(outcome)
        else:
            went = f"continued at event {outcome.resumed_at:,}" if outcome.resumed_at else "began at the first event"
            said = "now serves" if outcome.swapped else "was dropped (--dry-run)"
            console().print(Text(f"{outcome.projection}: {went}; the new read model {said}", style="bold"))
    return Exit.OK


@asynchronous
async def forget(names: tuple[str, ...], data_dir: Path | None) -> Exit:
    target = find_target(data_dir)
    async with nats_of(target) as client, postgres_of(target) as connection:
        for chosen in _chosen(names):
            logs = await logs_of(client, chosen.context)
            try:
                await refuse_other_logs(connection, chosen.schema, logs)
            except OfAnotherHistory as error:
                await forget_read_models(connection, chosen.context)
                said = f"{chosen.name}: dropped; {error.why}. Restart the projector, which computes it again."
                console().print(Text(said, style="bold"))
            else:
                console().print(Text(f"{chosen.name}: belongs to this log, so it stays"))
    return Exit.OK


async def _rebuild(projection: Projection, target: Target, *, dry_run: bool, quiet: bool) -> Outcome:
    async with nats_of(target) as client:
        logs = await logs_of(client, projection.context)
        async with (
            Rebuild(projection, logs, target.postgres_url) as work,
            on_record(target.postgres_url, projection.name, dry_run=dry_run) as book,
        ):
            with bar(f"rebuild {projection.name}", quiet=quiet) as progress:

                def tell(done: int, of: int) -> None:
                    progress(done, of)
                    book.folded(done, of)

                began = time.monotonic()
                await work.fold(tell, progress.say)
                fold_s = time.monotonic() - began
                progress.say("comparing")
                await book.comparing()
                positions, tables = await work.diff()
                await book.compared(tables)
            if not quiet:
                _print(projection.name, positions, tables)  # before anything is swapped
            if dry_run:
                await work.drop()
            else:
                await book.swapping()
                positions = await work.swap()
            await book.ended(positions, is_swapped=not dry_run)
            return Outcome(
                projection=projection.name,
                positions=positions,
                tables=tables,
                swapped=not dry_run,
                events=work.events,
                resumed_at=work.resumed_at,
                fold_s=round(fold_s, 3),
            )


def _chosen(names: Sequence[str]) -> list[Projection]:
    return [projection for projection in PROJECTIONS if not names or projection.name in names]


def _print(name: str, positions: object, tables: Sequence[TableReport]) -> None:
    screen = console()
    shown = Table("table", "rows", "different", title=f"{name} at {positions}", title_justify="left")
    for report in tables:
        shown.add_row(
            report.table, f"{report.rows:,}", Text(f"{report.different:,}", "red" if report.different else "")
        )
    screen.print(shown)
    for example in [example for report in tables for example in report.examples][:EXAMPLES_SHOWN]:
        screen.print(Text(printable(f"{example.table} {example.key}: {example.kind}"), style="red"))
        for column, (wanted, found) in example.columns.items():
            screen.print(printable(f"    {column}: the log says {wanted}, the table says {found}"))
