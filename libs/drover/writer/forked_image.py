"""Encodes a fold in a forked child process and reads the result through a pipe. So the event loop is not blocked, and
no file is written."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Final

from drover.domain.errors import DroverError
from drover.eventlog.snapshots import CHUNK_BYTES
from drover.writer.fold import Fold, encode_image

SILENT_S: Final = 120.0
"""How long the child process may send nothing. After that it is killed."""


class SnapshotChildFailed(DroverError):
    """The forked child process that encodes the state failed, so there is no snapshot. The log is not affected."""


class ForkedImage:
    """An encoded fold. Creating the object forks a child process, which has the fold of that moment. Always call
    `aclose`.

    The pipe limits memory: the child waits until its data is read, so this process holds one or two chunks at a time.
    """

    def __init__(self, fold: Fold[Any]) -> None:
        self._pipe, into = os.pipe()
        try:
            self.pid = _fork_and_encode(fold, self._pipe, into)
        except OSError:
            os.close(self._pipe)
            raise
        finally:
            os.close(into)  # only the child writes; when it closes its end, the image is complete
        self._transport: asyncio.ReadTransport | None = None
        self._reaping: asyncio.Future[tuple[int, int]] | None = None

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the encoded fold; works only once. Raises SnapshotChildFailed after the last bytes if the child process
        failed."""
        reader = asyncio.StreamReader(limit=CHUNK_BYTES)
        self._transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(self._pipe, "rb", buffering=0)
        )
        while chunk := await _read_chunk(reader):
            yield chunk
        if (status := await self._reap()) != 0:
            raise SnapshotChildFailed(status)

    async def aclose(self) -> None:
        """Kill the child process if it is still running."""
        if self._transport is None:
            os.close(self._pipe)
        else:
            self._transport.close()
        if self._reaping is None or not self._reaping.done():
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            await self._reap()

    async def _reap(self) -> int:
        if self._reaping is None:
            self._reaping = asyncio.get_running_loop().run_in_executor(None, os.waitpid, self.pid, 0)
        _, status = await asyncio.shield(self._reaping)
        return status


def _fork_and_encode(fold: Fold[Any], out_of: int, into: int) -> int:
    """Fork a child process, which writes the fold to the pipe and ends. Return its pid."""
    # Block signals during the fork: a signal that reaches the child would also wake the parent's loop, as a second
    # signal.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        pid = os.fork()
    except OSError:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        raise
    if pid:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return pid
    # In the child: no event loop, no logging, no clean-up handlers; only the encoder and the pipe.
    code = 1
    try:
        # Otherwise the child itself would count as a reader of the pipe, and would wait for ever if its parent died.
        os.close(out_of)
        with os.fdopen(into, "wb") as pipe:
            pipe.write(encode_image(fold))
        code = 0
    finally:
        os._exit(code)


async def _read_chunk(reader: asyncio.StreamReader) -> bytes:
    """Read a full chunk from the pipe; the last one may be shorter. At the end of the data, return empty bytes. Raises
    TimeoutError if the child is silent for too long."""
    try:
        async with asyncio.timeout(SILENT_S):
            return await reader.readexactly(CHUNK_BYTES)
    except asyncio.IncompleteReadError as end:
        return end.partial
