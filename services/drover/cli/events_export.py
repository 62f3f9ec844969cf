"""`drover events export`: writes events with their positions as JSON lines. The export of a whole log can be imported
again."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from pathlib import Path
from typing import Any

import zstandard

from drover.archive.chain import Chain
from drover.archive.errors import FileUnwritable
from drover.archive.reading import ends_of
from drover.archive.text import End, Head, encode_end, encode_head, event_lines
from drover.cli.audit import record_access
from drover.cli.bar import Tell, bar
from drover.cli.events_cloud import cloud_event
from drover.cli.events_source import Source, found_in, matching_in, opened
from drover.cli.exits import Exit
from drover.cli.following import while_somebody_reads
from drover.cli.running import asynchronous
from drover.cli.target import find_target, nats_of
from drover.cli.wanted import Wanted
from drover.domain.identity.audit import AccessKind
from drover.service.private_file import sync_directory

Write = Callable[[bytes], Any]


@asynchronous
async def export(
    output: Path | None,
    context: str,
    partition: str | None,
    wanted: Wanted,
    limit: int | None,
    cloudevents: bool,
    archive_address: str | None,
    data_dir: Path | None,
) -> Exit:
    if archive_address is None:
        async with nats_of(find_target(data_dir)) as client:
            await record_access(client, AccessKind.EXPORT, f"events export --context {context}")
    async with opened(data_dir, archive_address, context, partition) as source:
        whole = source.whole and wanted.everything and limit is None and not cloudevents
        with _written(output) as write, bar(f"export {context}", quiet=output is None) as tell:
            work = _Export(source, write, tell)
            if whole:
                await while_somebody_reads(work.all())
            else:
                await while_somebody_reads(work.some(wanted, limit, cloudevents))
    return Exit.OK


class _Export:
    def __init__(self, source: Source, write: Write, tell: Tell) -> None:
        self._source = source
        self._write = write
        self._tell = tell

    async def all(self) -> None:
        source, chain = self._source, Chain()
        self._write(encode_head(Head(source.context, source.partitions, 0)))
        of = sum((await ends_of(source.logs)).values())
        async with aclosing(found_in(source, Wanted())) as commits:
            async for placed in commits:
                chain.take(placed.partition, placed.commit)
                self._put(event_lines(source.context, placed))
                self._tell(chain.events, max(of, chain.events))
        self._write(encode_end(End(chain.commits, chain.events, chain.seq)))

    async def some(self, wanted: Wanted, limit: int | None, cloudevents: bool) -> None:
        context = self._source.context
        async with aclosing(matching_in(self._source, wanted, limit)) as commits:
            async for placed, matching in commits:
                if cloudevents:
                    self._put([cloud_event(context, placed, record) for record in matching])
                else:
                    lines = event_lines(context, placed)
                    self._put([lines[record.line] for record in matching])

    def _put(self, lines: list[bytes]) -> None:
        if lines:  # none must not become an empty line
            self._write(b"\n".join(lines) + b"\n")


@contextmanager
def _written(output: Path | None) -> Iterator[Write]:
    """Open the output: standard output, or a file that only its owner may read and that appears only when it is
    complete."""
    if output is None:
        yield _to_standard_output
        return
    with _or_unwritable(output):
        descriptor, name = tempfile.mkstemp(prefix=f".{output.name}.", dir=output.parent)  # mode 600
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            compressor = zstandard.ZstdCompressor(write_checksum=True).compressobj() if _is_packed(output) else None

            def write(data: bytes) -> None:
                with _or_unwritable(output):
                    file.write(data if compressor is None else compressor.compress(data))

            yield write
            with _or_unwritable(output):
                file.write(b"" if compressor is None else compressor.flush())
                file.flush()
                os.fsync(file.fileno())
        with _or_unwritable(output):
            temporary.replace(output)
            sync_directory(output.parent)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def _is_packed(output: Path) -> bool:
    return output.suffix == ".zst"


@contextmanager
def _or_unwritable(output: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileUnwritable(output, error.strerror or str(error)) from error


def _to_standard_output(data: bytes) -> None:
    stream = sys.stdout.buffer
    stream.write(data)
    stream.flush()
