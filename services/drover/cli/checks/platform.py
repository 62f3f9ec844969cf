"""Checks that the servers of the platform answer and are configured correctly. Changes nothing."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from nats.js.errors import NotFoundError

from drover.cli.checks.finding import Finding, Scene, fail, ok, skipped, warn
from drover.cli.checks.retention import purges
from drover.cli.errors import NoPlatform
from drover.cli.target import nats_of
from drover.domain.contexts import CONTEXTS
from drover.domain.errors import DroverError
from drover.eventlog.durability import DurabilityUnknown, UnsyncedServer, refuse_unsynced
from drover.eventlog.log import Partition
from drover.eventlog.streams import CompressedReplicas, PurgeDenied, StreamMisconfigured, ensure_stream
from drover.postgres.migrate import MigrationChanged, MigrationGap, applied, load_migrations, outstanding
from drover.service.config import ConfigurationError
from drover.writer.acceptance import ask_in_use
from drover.writer.nats_lease import SKEW_MAX

REQUEST_S: Final = 5.0
POSTGRES_MAJOR_MIN: Final = 15

_NO_NATS: Final = "NATS was not reached"
_NO_POSTGRES: Final = "PostgreSQL was not reached"


async def nats_answers(scene: Scene) -> Finding:
    if isinstance(scene.nats, DroverError):
        return _absent(scene, scene.nats)
    version = scene.nats.connected_server_version
    return ok(f"nats-server {version.major}.{version.minor}.{version.patch} answers")


async def postgres_answers(scene: Scene) -> Finding:
    if isinstance(scene.postgres, DroverError):
        return _absent(scene, scene.postgres)
    found = f"PostgreSQL {scene.postgres.get_settings().server_version} answers"
    if scene.postgres.get_server_version().major < POSTGRES_MAJOR_MIN:
        return fail(found, f"Drover needs PostgreSQL {POSTGRES_MAJOR_MIN} or newer: upgrade it.")
    return ok(found)


def _absent(scene: Scene, error: DroverError) -> Finding:
    """Make the finding for servers that cannot be reached: skipped if the platform was never started, failed if it
    should run."""
    if isinstance(error, NoPlatform):
        return skipped("nothing has run here yet", "Start the platform with `drover up`.")
    if isinstance(error, ConfigurationError):
        return skipped("the settings do not say where it is", "Correct the configuration first.")
    if scene.is_embedded and not _is_held(scene.data_dir):
        return skipped("the platform of this directory is not running", "Start it with `drover up`.")
    return fail("no answer", str(error))


def _is_held(data_dir: Path) -> bool:
    """Whether the process whose id is in the lock file is alive. The check must not take the lock, even for a
    moment."""
    try:
        os.kill(int((data_dir / "lock").read_text()), 0)
    except PermissionError:
        return True
    except (OSError, ValueError, OverflowError):
        return False
    return True


async def servers_sync(scene: Scene) -> Finding:
    if isinstance(scene.nats, DroverError) or isinstance(scene.target, DroverError):
        return skipped(_NO_NATS)
    if scene.target.allow_unsynced:
        return warn("DROVER_ALLOW_UNSYNCED is set: not checked", "Unset it if acknowledged work must not be lost.")
    try:
        if scene.target.nats_system_url is None:
            raise DurabilityUnknown("DROVER_NATS_SYSTEM_URL is not set")
        async with nats_of(scene.target, scene.target.nats_system_url) as system:
            names = await refuse_unsynced(system)
    except UnsyncedServer as error:
        return fail("a server acknowledges before it has synced to disk", str(error))
    except DurabilityUnknown as error:
        return fail("it is not known whether the servers sync", str(error))
    return ok(f"every write is synced to disk by {', '.join(names)}")


async def streams(scene: Scene) -> Finding:
    if isinstance(scene.nats, DroverError):
        return skipped(_NO_NATS)
    jetstream = scene.nats.jetstream()
    for context in CONTEXTS:
        try:
            await jetstream.stream_info(Partition(context).stream)
        except NotFoundError:
            return skipped(f"no log of {context} yet", "The first start of the services creates it.")
        try:
            await ensure_stream(scene.nats, context, purges=purges(scene))  # it exists, so nothing is created
        except StreamMisconfigured as error:
            return fail(f"the stream {error.stream} could lose events", str(error))
        except CompressedReplicas as error:
            return fail(f"the replicas of {error.stream} are compressed", str(error))
        except PurgeDenied as error:
            return fail(f"the stream {error.stream} refuses purges", str(error))
    return ok(f"{', '.join(CONTEXTS)}: configured correctly")


async def clock(scene: Scene) -> Finding:
    """Compare this machine's clock with that of NATS, which stamps commits: a writer whose clock differs by more than
    `SKEW_MAX` refuses to lead."""
    if isinstance(scene.nats, DroverError):
        return skipped(_NO_NATS)
    sent = datetime.now(UTC)
    answer = await scene.nats.request(f"$JS.API.STREAM.INFO.{Partition(CONTEXTS[0]).stream}", timeout=REQUEST_S)
    received = datetime.now(UTC)
    stamp = msgspec.json.decode(answer.data, type=dict[str, Any]).get("ts")
    if stamp is None:
        return skipped("the server gives no time before the log exists")
    skew = skew_s(sent, received, msgspec.convert(stamp, datetime))
    found = f"{skew:+.3f} s from the NATS server"
    if abs(skew) > SKEW_MAX.total_seconds():
        return fail(found, f"At most {SKEW_MAX.total_seconds():g} s is allowed: set this machine's clock (NTP).")
    return ok(found)


def skew_s(sent: datetime, received: datetime, theirs: datetime) -> float:
    """Compute the least possible difference between the clocks: the server read its clock between request and
    answer."""
    if theirs < sent:
        return (sent - theirs).total_seconds()
    if theirs > received:
        return (received - theirs).total_seconds()
    return 0.0


async def writers_accept(scene: Scene) -> Finding:
    if isinstance(scene.nats, DroverError):
        return skipped(_NO_NATS)
    found = await ask_in_use(scene.nats, CONTEXTS)
    if not found:
        return skipped("no writer has run yet", "Start the services.")
    refused = [one.refusal for one in found if one.refusal is not None]
    if refused:
        remedies = dict.fromkeys(refusal.remedy for refusal in refused)
        return fail(" ".join(refusal.why for refusal in refused), " ".join(remedies))
    ahead = [f"{one.partition} by {one.ahead_s:.0f} s" for one in found if one.ahead_s]
    if ahead:
        return warn(
            f"commands are accepted, but the time of events is ahead of the clock: {', '.join(ahead)}",
            "A clock was ahead before. Deadlines are not delayed; see PartitionTimeAhead in docs/runbook.md.",
        )
    return ok(f"commands are accepted by {', '.join(str(one.partition) for one in found)}")


async def migrations(scene: Scene) -> Finding:
    if isinstance(scene.postgres, DroverError):
        return skipped(_NO_POSTGRES)
    known = load_migrations()
    try:
        pending = outstanding(known, await applied(scene.postgres))
    except (MigrationChanged, MigrationGap) as error:
        return fail("files and database do not match", str(error))
    if pending:
        return fail(f"{len(pending)} of {len(known)} are not applied", "Run `drover migrate`.")
    return ok(f"{len(known)} of {len(known)} are applied")
