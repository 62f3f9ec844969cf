"""When and how a writer's state is saved: encoded by a forked child, so that the loop goes on, then uploaded."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import structlog

from drover.domain.decider import Decider
from drover.domain.errors import DroverError
from drover.eventlog.log import Partition
from drover.eventlog.snapshots import CHUNK_BYTES, SnapshotStore
from drover.writer import metrics
from drover.writer.fold import FOLD_VERSION, Fold, decode_image, encode_image

SNAPSHOT_EVERY_EVENTS: Final = 50_000
CHILD_S: Final = 120.0

log = structlog.get_logger("drover.writer")


class SnapshotChildFailed(DroverError):
    """The forked child that encodes the state did not end well; the log is still complete."""


def snapshot_version(decider: Decider[Any]) -> str:
    """Changes with the shape of the state and with the meaning of evolve: other snapshots are then simply not found."""
    schema = msgspec.json.encode(msgspec.json.schema(decider.state), order="deterministic")
    text = b"%d.%d." % (FOLD_VERSION, decider.version) + schema
    return hashlib.sha256(text).hexdigest()[:16]


class Snapshotter:
    """Saves every so many events; one at a time."""

    def __init__(
        self,
        decider: Decider[Any],
        partition: Partition,
        store: SnapshotStore,
        every_events: int = SNAPSHOT_EVERY_EVENTS,
    ) -> None:
        self._decider = decider
        self._partition = partition
        self._store = store
        self._version = snapshot_version(decider)
        self._every = every_events
        self._saved_n = 0
        self._task: asyncio.Task[None] | None = None

    async def load(self) -> Fold[Any] | None:
        data = await self._store.load(self._partition, self._version)
        if data is None:
            return None
        try:
            fold = decode_image(self._decider, data)
        except msgspec.DecodeError as error:
            log.warning("snapshot_ignored", context=self._decider.context, error=repr(error))
            return None
        self._saved_n = fold.n
        return fold

    def is_due(self, fold: Fold[Any]) -> bool:
        return fold.n - self._saved_n >= self._every and (self._task is None or self._task.done())

    def take(self, fold: Fold[Any]) -> None:
        """Fork here and now; the caller sees to it that the fold holds committed events only."""
        self._saved_n = fold.n
        try:
            child, path = self._fork(fold)
        except OSError:
            # No room for a file, no memory for a child: a snapshot is a cache, and must not cost the writer its term.
            metrics.SNAPSHOTS.labels(self._decider.context, "failed").inc()
            log.exception("snapshot_failed", context=self._decider.context)
            return
        self._task = asyncio.create_task(self._save(child, path, fold.seq))

    def _fork(self, fold: Fold[Any]) -> tuple[int, Path]:
        handle, name = tempfile.mkstemp(prefix="drover-snapshot-")
        try:
            return fork_and_encode(fold, handle), Path(name)
        except OSError:
            os.unlink(name)
            raise
        finally:
            os.close(handle)

    async def settle(self) -> None:
        """Wait for a snapshot that is under way."""
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _save(self, child: int, path: Path, seq: int) -> None:
        context = self._decider.context
        try:
            await _reap(child)
            size = await self._store.save(self._partition, self._version, _chunks(path))
        except Exception:
            # A snapshot is a cache. The next one is tried after as many events again.
            metrics.SNAPSHOTS.labels(context, "failed").inc()
            log.exception("snapshot_failed", context=context)
        else:
            metrics.SNAPSHOTS.labels(context, "saved").inc()
            metrics.SNAPSHOT_BYTES.labels(context, self._partition.name).set(size)
            log.info("snapshot_saved", context=context, seq=seq, bytes=size)
        finally:
            path.unlink(missing_ok=True)  # noqa: ASYNC240 - one small metadata call


def fork_and_encode(fold: Fold[Any], handle: int) -> int:
    """Fork; the child writes the fold as it is at this moment to the open file and ends. Returns the child's pid."""
    # A signal that reached the child would wake the parent's loop too, as if it had come twice.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        pid = os.fork()
    except OSError:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        raise
    if pid:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return pid
    # In the child: no event loop, no logging, no clean-up handlers; only the encoder and the file.
    code = 1
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(encode_image(fold))
        code = 0
    finally:
        os._exit(code)


async def _reap(pid: int) -> None:
    waiting = asyncio.get_running_loop().run_in_executor(None, os.waitpid, pid, 0)
    try:
        _, status = await asyncio.wait_for(asyncio.shield(waiting), CHILD_S)
    except BaseException:
        os.kill(pid, signal.SIGKILL)  # or the thread that waits for it would hold up the end of the process
        await waiting
        raise
    if status != 0:
        raise SnapshotChildFailed(status)


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk
