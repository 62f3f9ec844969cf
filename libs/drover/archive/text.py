"""Converts commits to lines of JSON and back: one line for each event, with its position. Other modules write the lines
to files.

A complete text begins with `{"log": …}` and ends with `{"end": …}`, so that a reader notices when something was cut
off. Each line between them has one `event`, the position of its commit (`seq`), the number of the event within that
commit (`line`, from 0), and how many events the commit has (`of`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Final

import msgspec

from drover.archive.errors import TextDamaged
from drover.domain.partitions import PARTITIONS_MAX, partition_names
from drover.eventlog.codec import lines
from drover.eventlog.log import COMMIT_BYTES_MAX, StoredCommit

FORM: Final = 1
LINE_BYTES_MAX: Final = 2 * COMMIT_BYTES_MAX
_CHECK_BYTES: Final = 8
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}")


class Head(msgspec.Struct, frozen=True):
    """The first line: which log this is, and the commit that it starts after."""

    context: str
    partitions: list[str]
    after: int
    form: int = FORM


class End(msgspec.Struct, frozen=True):
    """The last line: how many commits and events the text has."""

    commits: int
    events: int
    last: int


class EventLine(msgspec.Struct, frozen=True):
    context: str
    partition: str
    seq: int
    line: int
    of: int
    commit: str
    epoch: int
    stored_at: datetime
    check: str
    """Checksum of the whole commit."""
    event: msgspec.Raw


class _Line(msgspec.Struct):
    """A line of any kind: the first line, an event, or the last line."""

    log: Head | None = None
    end: End | None = None
    context: str = ""
    partition: str = ""
    seq: int = 0
    line: int = -1
    of: int = 0
    commit: str = ""
    epoch: int = 0
    stored_at: datetime | None = None
    check: str = ""
    event: msgspec.Raw = msgspec.Raw(b"")


class Placed(msgspec.Struct, frozen=True):
    """A commit and its partition."""

    partition: str
    commit: StoredCommit


_decoder: Final = msgspec.json.Decoder(_Line)
_encode: Final = msgspec.json.Encoder().encode


def is_valid_log(context: str, partitions: list[str]) -> bool:
    """Whether these are valid names of a context and its partitions. They are checked because a file may contain any
    names, and names become parts of NATS subjects."""
    count = len(partitions)
    return (
        _NAME.fullmatch(context) is not None
        and 1 <= count <= PARTITIONS_MAX
        and partitions == list(partition_names(count))
    )


def check_of(placed: Placed) -> str:
    """Compute a checksum over all that is stored of a commit: payload, position, id and times."""
    commit = placed.commit
    at = commit.stored_at
    stored_at = (at if at.tzinfo is UTC else at.astimezone(UTC)).isoformat()
    about = f"{placed.partition} {commit.seq} {commit.id} {commit.epoch} {stored_at}\n".encode()
    return blake2b(about + commit.payload, digest_size=_CHECK_BYTES).hexdigest()


def encode_head(head: Head) -> bytes:
    return _encode({"log": head}) + b"\n"


def encode_end(end: End) -> bytes:
    return _encode({"end": end}) + b"\n"


def event_lines(context: str, placed: Placed) -> list[bytes]:
    """Make one line for each event of a commit, in order."""
    commit = placed.commit
    raws = lines(commit.payload)
    check = check_of(placed)
    # A message of another program has no events. One line keeps its position; without it all later commits would move
    # up.
    return [
        _encode(
            EventLine(
                context=context,
                partition=placed.partition,
                seq=commit.seq,
                line=number,
                of=len(raws),
                commit=commit.id,
                epoch=commit.epoch,
                stored_at=commit.stored_at,
                check=check,
                event=msgspec.Raw(raw),
            )
        )
        for number, raw in enumerate(raws or [b"null"])
    ]


def encode_commit(context: str, placed: Placed) -> bytes:
    return b"".join(line + b"\n" for line in event_lines(context, placed))


class Text:
    """A complete text, read once from start to end. Raises TextDamaged at the first fault.

    `source` yields blocks of whole lines. Each block is decoded at once, which is faster than line by line.
    """

    def __init__(self, source: Iterable[bytes]) -> None:
        self._blocks = self._decoded(source)
        self._block: list[_Line] = []
        self._at = 0
        """The index of the next line in the block."""
        self._number = 0
        self._first: _Line | None = None
        """The first line of the commit whose lines are being gathered."""
        self._events: list[bytes] = []
        self._event_bytes = 0
        self.end: End | None = None
        """The last line. It is set when all commits were read."""
        first = self._next()
        if first is None:
            raise TextDamaged(1, "the file is empty")
        if first.log is None:
            raise TextDamaged(1, "it does not begin with the line that names its log")
        if first.log.form != FORM:
            raise TextDamaged(1, f"it has format {first.log.form}, and this program reads format {FORM}")
        if not is_valid_log(first.log.context, first.log.partitions):
            reason = f"{first.log.context!r} with the partitions {first.log.partitions} is not a log of Drover"
            raise TextDamaged(1, reason)
        self.head: Final = first.log

    def commits(self) -> Iterator[Placed]:
        """Yield the commits in the order of the file. It does not check whether a commit is missing between two others;
        `Chain` does."""
        commits = events = 0
        last = self.head.after
        while True:
            if (whole := self._whole()) is not None:
                commits, events, last = commits + 1, events + self._block[self._at - 1].of, whole.commit.seq
                yield whole
                continue
            if (line := self._next()) is None:
                break
            if line.end is not None:
                self._finish(line.end, End(commits, events, last))
                return
            first = self._gather(line)
            if len(self._events) == line.of or line.of == 0:
                placed = self._placed(first)
                commits, events, last = commits + 1, events + line.of, line.seq
                yield placed
        raise self._wrong(f"the file ends here, after commit {last}, without its last line: it was cut off")

    def _finish(self, end: End, found: End) -> None:
        if self._first is not None:
            raise self._wrong(f"commit {self._first.seq} has fewer events than it should")
        if end != found:
            raise self._wrong(f"it should end with {end}, but has {found}")
        if self._next() is not None:
            raise self._wrong("there is more text after the last line")
        self.end = end

    def _whole(self) -> Placed | None:
        """Return the next commit if all its lines are in the block and its checksum is right, which is almost always
        so. Otherwise return None; then its lines are read one by one, to find what is wrong."""
        block, at = self._block, self._at
        if self._first is not None or at == len(block):
            return None
        first = block[at]
        found = block[at : at + first.of]
        if not found or len(found) < first.of or not self._can_begin(first):
            return None
        seq, id_ = first.seq, first.commit
        for number, line in enumerate(found):
            if line.line != number or line.seq != seq or line.commit != id_:
                return None
        payload = b"\n".join([line.event for line in found]) + b"\n"
        assert first.stored_at is not None
        placed = Placed(first.partition, StoredCommit(seq, id_, first.epoch, first.stored_at, payload))
        if len(payload) > LINE_BYTES_MAX or check_of(placed) != first.check:
            return None
        self._at += first.of
        self._number += first.of
        return placed

    def _can_begin(self, first: _Line) -> bool:
        """Whether this line can be the first of a commit of this log."""
        return (
            first.context == self.head.context
            and first.partition in self.head.partitions
            and first.commit.isprintable()
            and first.stored_at is not None
            and first.stored_at.tzinfo is not None
        )

    def _next(self) -> _Line | None:
        while self._at == len(self._block):
            block = next(self._blocks, None)
            if block is None:
                return None
            self._block, self._at = block, 0
        self._at += 1
        self._number += 1
        return self._block[self._at - 1]

    def _decoded(self, source: Iterable[bytes]) -> Iterator[list[_Line]]:
        for block in source:
            try:
                found = _decoder.decode_lines(block)
            except (msgspec.DecodeError, UnicodeDecodeError):
                found = None
            if found is not None and len(found) == block.count(b"\n") + (not block.endswith(b"\n")):
                yield found
            else:  # something is wrong: find the line
                for raw in block.splitlines(keepends=True):
                    yield [self._decoded_line(raw)]

    def _decoded_line(self, raw: bytes) -> _Line:
        self._number += 1
        try:
            if len(raw) > LINE_BYTES_MAX:
                raise self._wrong(f"it is longer than {LINE_BYTES_MAX:,} bytes")
            return _decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._wrong(f"it cannot be read ({error})") from None
        finally:
            self._number -= 1  # `_next` counts the lines

    def _gather(self, line: _Line) -> _Line:
        """Add a line to those of its commit; return the first one of them."""
        event = bytes(line.event)
        if line.log is not None or not event:
            raise self._wrong("it has no event")
        if line.context != self.head.context or line.partition not in self.head.partitions:
            raise self._wrong(f"it belongs to {line.context}/{line.partition}, which is not in this log")
        nothing = line.of == 0 and not line.commit
        if line.line != len(self._events) or (line.of <= line.line and not nothing):
            raise self._wrong(f"event {line.line} of commit {line.seq} is out of place")
        first = self._first = self._first or line
        if line.seq != first.seq or line.commit != first.commit:
            raise self._wrong(f"commit {first.seq} has fewer events than it should")
        self._event_bytes += len(event)
        if self._event_bytes > LINE_BYTES_MAX:  # a small compressed file can hold a lot of text
            raise self._wrong(f"commit {line.seq} is larger than a commit can be")
        self._events.append(event)
        return first

    def _placed(self, first: _Line) -> Placed:
        stored_at = first.stored_at
        if stored_at is None or stored_at.tzinfo is None:
            raise self._wrong("it has no storage time")
        if not first.commit.isprintable():  # the id becomes a header of a NATS message
            raise self._wrong(f"{first.commit!r} is not the id of a commit")
        joined = b"\n".join(self._events) if first.of else b""
        self._first, self._events, self._event_bytes = None, [], 0
        for payload in (joined + b"\n", joined):  # writers end the last line with a newline, but that is optional
            commit = StoredCommit(first.seq, first.commit, first.epoch, stored_at, payload)
            placed = Placed(first.partition, commit)
            if check_of(placed) == first.check:
                return placed
        raise self._wrong(f"the checksum of commit {first.seq} is not {first.check}: the commit was changed")

    def _wrong(self, reason: str) -> TextDamaged:
        return TextDamaged(self._number, reason)
