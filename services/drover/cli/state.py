"""`drover state`: prints the state of a context at a time, computed from the events of its log or of an archive."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

import click
import msgspec

from drover.archive.opening import open_store
from drover.archive.snapshots import ArchivedSnapshots
from drover.cli.bar import Tell, bar
from drover.cli.events_source import Source, opened
from drover.cli.exits import Exit
from drover.cli.output import console, print_json
from drover.cli.record import last_of
from drover.cli.running import asynchronous
from drover.cli.seek import commits_between
from drover.cli.target import NAME, find_target
from drover.domain.decider import Decider
from drover.domain.deciders import DECIDERS
from drover.eventlog.codec import Codec
from drover.eventlog.follow import last_before
from drover.eventlog.log import EventLog, StoredCommit
from drover.history.checkpoints import FoldCheckpoints, refuse_another_past
from drover.postgres.errors import POSTGRES_AWAY
from drover.postgres.pool import open_pool
from drover.writer.fold import Fold, decode_image
from drover.writer.snapshots import readable_versions

EVENTS_PER_TELLING: Final = 1_000


class Stood(msgspec.Struct):
    """What `state` prints for each partition."""

    context: str
    partition: str
    at: datetime
    seq: int
    n: int
    """`seq` is the last commit up to the time `at`, and `n` the number of the last event."""
    state: Any


@asynchronous
async def state(
    at: datetime | None,
    context: str,
    entity: str | None,
    archive_address: str | None,
    as_json: bool,
    data_dir: Path | None,
) -> Exit:
    now = datetime.now(UTC)
    if at is not None and at > now:
        raise click.UsageError(f"{at.isoformat()} is in the future. Give --as-of a time in the past.")
    moment = at or now
    found = 0
    async with opened(data_dir, archive_address, context, None) as source:
        for log in source.logs:
            with bar(f"fold {context}", quiet=as_json) as tell:
                begin = None if archive_address is not None else await _checkpoint(data_dir, log, moment)
                stood = await stood_at(DECIDERS[context], log, moment, begin, tell)
            if entity is not None:
                stood.state = about(stood.state, entity)
                if not stood.state:
                    continue
            found += 1
            _print(stood, source, as_json)
    return Exit.OK if found else Exit.NOT_FOUND


async def _checkpoint(data_dir: Path | None, log: EventLog, at: datetime) -> bytes | None:
    """Load the latest checkpoint up to the time `at`. None if there is none, or no Postgres: then the state is computed
    from the first event, which takes longer."""
    decider = DECIDERS[log.partition.context]
    target = find_target(data_dir)
    if target.postgres is None:
        return None
    archived = None if target.archive is None else ArchivedSnapshots(open_store(target.archive))
    try:
        async with open_pool(target.postgres, NAME, 1) as pool:
            return await FoldCheckpoints(pool, archived).before(log.partition, readable_versions(decider), at)
    except POSTGRES_AWAY:
        return None


async def stood_at(
    decider: Decider[Any], log: EventLog, at: datetime, image: bytes | None, tell: Tell = lambda done, of: None
) -> Stood:
    """Compute the state at the time `at`, which may be between two events of one commit. `image`: a checkpoint to start
    from."""
    fold = Fold(decider) if image is None else decode_image(decider, image)
    await refuse_another_past(log, fold.seq, fold.commit)
    state, seq, n = fold.state, fold.seq, fold.n
    codec = Codec.of(decider)
    last = await log.last()
    end = await _events_until(log, at, last)
    over = last is None
    stretch = cast(AsyncGenerator[StoredCommit, None], commits_between(log, seq, last.seq if last else 0))
    async with aclosing(stretch) as commits:
        async for commit in commits:
            for event in codec.decode(commit.payload):
                over = event.at > at
                if over:
                    break
                state, seq, n = decider.evolve(state, event), commit.seq, event.n
                if n % EVENTS_PER_TELLING == 0:
                    tell(n, end)
            if over:
                break
    told = msgspec.json.decode(msgspec.json.encode(decider.to_image(state)))
    return Stood(log.partition.context, log.partition.name, at, seq, n, told)


async def _events_until(log: EventLog, at: datetime, last: StoredCommit | None) -> int:
    """Return about how many events the partition has up to this time: for the progress bar."""
    if last is None:
        return 0
    commit = await log.get(await last_before(log, at, last.seq))
    return last_of(commit or last).envelope.n


def about(told: Any, entity: str) -> dict[str, Any]:
    """Select the entries of the state that are this entity or refer to it."""
    found: dict[str, Any] = {}
    for name, part in told.items() if isinstance(told, dict) else ():
        if isinstance(part, dict):
            entries = {key: value for key, value in part.items() if key == entity or _names(value, entity)}
            if entries:
                found[name] = entries
        elif isinstance(part, list) and (some := [value for value in part if _names(value, entity)]):
            found[name] = some
    return found


def _names(value: Any, entity: str) -> bool:
    """Whether the value contains the entity's id. A number counts only in a field whose name ends in `id`."""
    if isinstance(value, dict):
        return entity in value or any(
            _names(inner, entity) or (name.endswith("id") and str(inner) == entity) for name, inner in value.items()
        )
    if isinstance(value, list):
        return any(_names(inner, entity) for inner in value)
    return isinstance(value, str) and value == entity


def _print(stood: Stood, source: Source, as_json: bool) -> None:
    if as_json:
        print_json(stood)
        return
    where = stood.context if len(source.logs) == 1 else f"{stood.context}/{stood.partition}"
    screen = console()
    screen.print(f"{where} at {stood.at.isoformat()}: commit {stood.seq}, event {stood.n}")
    screen.print_json(msgspec.json.encode(stood.state).decode(), indent=2)
