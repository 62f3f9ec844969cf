"""Checks that what has left NATS is in the archive, and that the archive is up to date. Changes nothing."""

from __future__ import annotations

from typing import Final

from nats.aio.client import Client
from nats.js.errors import NotFoundError

from drover.archive.archive import Archive
from drover.archive.errors import ArchiveMissing
from drover.archive.opening import open_store
from drover.archive.retention import parse_keep
from drover.cli.checks.finding import Finding, Scene, fail, ok, skipped, warn
from drover.cli.target import ARCHIVE
from drover.domain.contexts import CONTEXTS
from drover.domain.errors import DroverError
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import ALL, Partition

LATE_COMMITS: Final = 10_000
"""How many commits the archive may be behind the log."""
KEEP: Final = "DROVER_LOG_KEEP"


def purges(scene: Scene) -> bool:
    """Whether the settings let commits leave NATS."""
    return not parse_keep(scene.environ.get(KEEP) or "all").all


async def old_commits_are_archived(scene: Scene) -> Finding:
    if isinstance(scene.nats, DroverError):
        return skipped("NATS was not reached")
    place = scene.environ.get(ARCHIVE)
    if not place:
        return await _without_archive(scene.nats)
    behind: dict[str, int] = {}
    for context in CONTEXTS:
        try:
            last = await JetStreamLog(scene.nats, Partition(context, ALL)).last()
            archive = await Archive.open(open_store(place, scene.environ), context)
        except ArchiveMissing:
            return warn(f"{place} has no archive of {context} yet", "The archiver makes one: `drover serve archiver`.")
        behind[context] = (last.seq if last else 0) - archive.index.last
    late = [f"{context} is {commits:,} commits behind" for context, commits in behind.items() if commits > LATE_COMMITS]
    if late:
        return warn(f"the archive of {', '.join(late)}", "Does the archiver run? Its log says why it fails.")
    return ok(f"{place} has the logs, at most {max(behind.values(), default=0):,} commits behind")


async def _without_archive(client: Client) -> Finding:
    for context in CONTEXTS:
        try:
            state = (await client.jetstream().stream_info(Partition(context).stream)).state
        except NotFoundError:
            continue
        if state.messages < state.last_seq:
            return fail(
                f"commits of {context} have left NATS, and {ARCHIVE} is not set",
                f"Set {ARCHIVE} to the archive that has them, for every service and for the command line.",
            )
    return skipped(f"no archive: {ARCHIVE} is not set", "NATS has all commits. An archive is a backup of them.")
