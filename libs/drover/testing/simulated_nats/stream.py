"""A stream: keeps messages in the order of their sequence, within its limits."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from drover.testing.simulated_nats.subjects import matches
from drover.testing.simulated_nats.wire import Message, decode_headers, encode_headers

OVERHEAD_BYTES: Final = 30
"""What nats-server counts for each message beside subject, headers and data."""
HEADERS_OVERHEAD_BYTES: Final = 4
NANO: Final = 1_000_000_000
_TTL: Final = re.compile(r"(\d+)s")


class Refused(Exception):
    """The server's answer to a request that it refuses."""

    def __init__(self, code: int, err_code: int, description: str) -> None:
        super().__init__(description)
        self.error = {"code": code, "err_code": err_code, "description": description}


class Stored(msgspec.Struct):
    seq: int
    subject: str
    headers: bytes
    data: bytes
    at: datetime

    @property
    def size(self) -> int:
        headers = len(self.headers) + HEADERS_OVERHEAD_BYTES if self.headers else 0
        return OVERHEAD_BYTES + len(self.subject) + headers + len(self.data)


class Stream:
    """The messages of one stream. `config`: all its options, in the form of the API. `now`: the clock of the server."""

    def __init__(self, config: dict[str, Any], now: Callable[[], datetime]) -> None:
        self.config = config
        self.created = now()
        self.first_seq = config.get("first_seq", 0)
        self.last_seq = max(self.first_seq - 1, 0)
        self.last_at: datetime | None = None
        self.bytes = 0
        self.removals = 0
        """Grows whenever messages are removed, so that consumers count anew what waits for them."""
        self._now = now
        self._messages: dict[int, Stored] = {}
        self._by_subject: dict[str, dict[int, None]] = {}
        self._expiries: list[tuple[datetime, int]] = []
        self._ids: dict[str, tuple[int, datetime]] = {}

    def __len__(self) -> int:
        return len(self._messages)

    def subjects(self, pattern: str) -> dict[str, int]:
        """Return, by subject that matches the pattern, how many messages it has."""
        return {name: len(seqs) for name, seqs in self._by_subject.items() if matches(pattern, name)}

    # Reading

    def get(self, seq: int) -> Stored | None:
        return self._messages.get(seq)

    def last_of(self, pattern: str) -> Stored | None:
        exact = self._by_subject.get(pattern)
        found = [exact] if exact else [seqs for name, seqs in self._by_subject.items() if matches(pattern, name)]
        return self._messages[max(next(reversed(seqs)) for seqs in found)] if found else None

    def from_(self, seq: int, pattern: str) -> Iterator[Stored]:
        """Yield the messages whose subject matches the pattern, from this sequence on."""
        for number in range(max(seq, self.first_seq), self.last_seq + 1):
            message = self._messages.get(number)
            if message is not None and matches(pattern, message.subject):
                yield message

    # Writing

    def append(self, message: Message) -> tuple[int, bool]:
        """Store a message. Return its sequence, and whether it was stored already."""
        headers = decode_headers(message.headers)
        self._refuse_wrong_expectation(message.subject, headers)
        if (duplicate := self._known(headers)) is not None:
            return duplicate, True
        ttl = self._ttl(headers)
        stored = Stored(self.last_seq + 1, message.subject, message.headers, message.data, self._now())
        self._refuse_beyond_limits(stored)
        self._store(stored, ttl)
        if id_ := headers.get("Nats-Msg-Id"):
            self._ids[id_] = stored.seq, stored.at
        return stored.seq, False

    def append_all(self, messages: list[Message]) -> int:
        """Store messages one after the other, or none of them. Return the last sequence."""
        before = self.first_seq, self.last_seq, self.last_at
        try:
            return [self.append(message) for message in messages][-1][0]
        except Refused:
            for seq in range(before[1] + 1, self.last_seq + 1):
                self._remove(seq)
            self.first_seq, self.last_seq, self.last_at = before
            raise

    def _refuse_wrong_expectation(self, subject: str, headers: dict[str, str]) -> None:
        if headers.get("Nats-Expected-Stream", self.config["name"]) != self.config["name"]:
            raise Refused(400, 10060, "expected stream does not match")
        of_subject = next(reversed(self._by_subject[subject])) if subject in self._by_subject else 0
        for name, last in (
            ("Nats-Expected-Last-Sequence", self.last_seq),
            ("Nats-Expected-Last-Subject-Sequence", of_subject),
        ):
            if headers.get(name, str(last)) != str(last):
                raise Refused(400, 10071, f"wrong last sequence: {last}")

    def _known(self, headers: dict[str, str]) -> int | None:
        seq, at = self._ids.get(headers.get("Nats-Msg-Id", ""), (None, self._now()))
        return seq if self._now() - at < timedelta(microseconds=self.config["duplicate_window"] // 1000) else None

    def _ttl(self, headers: dict[str, str]) -> timedelta | None:
        if (text := headers.get("Nats-TTL")) is None:
            return None
        if not self.config["allow_msg_ttl"]:
            raise Refused(400, 10166, "per-message TTL is disabled")
        if (found := _TTL.fullmatch(text)) is None:
            raise Refused(400, 10165, "invalid per-message TTL")
        return timedelta(seconds=int(found[1]))

    def _refuse_beyond_limits(self, stored: Stored) -> None:
        if self.config["discard"] == "old":
            return
        if 0 < self.config["max_msgs"] <= len(self):
            raise Refused(503, 10077, "maximum messages exceeded")
        if 0 < self.config["max_bytes"] < self.bytes + stored.size:
            raise Refused(503, 10077, "maximum bytes exceeded")

    def _store(self, stored: Stored, ttl: timedelta | None) -> None:
        self._messages[stored.seq] = stored
        seqs = self._by_subject.setdefault(stored.subject, {})
        seqs[stored.seq] = None
        self.last_seq, self.last_at = stored.seq, stored.at
        self.first_seq = self.first_seq or 1
        self.bytes += stored.size
        if ttl is not None:
            heapq.heappush(self._expiries, (stored.at + ttl, stored.seq))
        if len(seqs) > self.config["max_msgs_per_subject"] > 0:
            self._remove(next(iter(seqs)))
        self.enforce_limits()

    # Removing

    def enforce_limits(self) -> None:
        """Remove the oldest messages beyond the limits. A stream that discards new messages instead (`discard`) keeps
        what it has."""
        messages_max, bytes_max = self.config["max_msgs"], self.config["max_bytes"]
        if self.config["discard"] == "old":
            while 0 < messages_max < len(self) or 0 < bytes_max < self.bytes:
                self._remove(self.first_seq)

    def purge(self, pattern: str, *, below: int | None, keep: int) -> int:
        """Remove the messages whose subject matches the pattern: those below a sequence, or all but the last `keep`.
        Return how many were removed."""
        if self.config["deny_purge"]:
            raise Refused(500, 10110, "stream purge not permitted")
        found = [message.seq for message in self.from_(0, pattern) if below is None or message.seq < below]
        doomed = found[: len(found) - keep]
        for seq in doomed:
            self._remove(seq)
        return len(doomed)

    def expire(self) -> None:
        """Remove the messages that are older than they may become. If the last message of a subject is removed, a
        marker takes its place, if the stream's options say so."""
        now = self._now()
        if age_ns := self.config["max_age"]:
            oldest = now - timedelta(microseconds=age_ns // 1000)
            while (first := self._messages.get(self.first_seq)) is not None and first.at <= oldest:
                self._remove(first.seq)
        while self._expiries and self._expiries[0][0] <= now:
            when, seq = heapq.heappop(self._expiries)
            if (message := self._messages.get(seq)) is not None:
                self._remove(seq)
                self._leave_marker(message, when)

    def _leave_marker(self, expired: Stored, when: datetime) -> None:
        ttl_s = self.config.get("subject_delete_marker_ttl", 0) // NANO
        is_marker = b"Nats-Marker-Reason" in expired.headers
        if not ttl_s or is_marker or expired.subject in self._by_subject:
            return
        shown = f"{ttl_s // 60}m{ttl_s % 60}s" if ttl_s >= 60 else f"{ttl_s}s"
        headers = {"Nats-Marker-Reason": "MaxAge", "Nats-TTL": shown, "Nats-Rollup": "sub"}
        marker = Stored(self.last_seq + 1, expired.subject, encode_headers(headers), b"", when)
        self._store(marker, timedelta(seconds=ttl_s))

    def _remove(self, seq: int) -> None:
        message = self._messages.pop(seq)
        self.bytes -= message.size
        self.removals += 1
        seqs = self._by_subject[message.subject]
        del seqs[seq]
        if not seqs:
            del self._by_subject[message.subject]
        while self.first_seq <= self.last_seq and self.first_seq not in self._messages:
            self.first_seq += 1
