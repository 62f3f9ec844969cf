"""The streams of a server and their consumers: JetStream without its API."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from drover.testing.simulated_nats.batch import ID, Batches
from drover.testing.simulated_nats.consumer import Consumer, Outlet
from drover.testing.simulated_nats.stream import NANO, Refused, Stream
from drover.testing.simulated_nats.subjects import matches, overlap
from drover.testing.simulated_nats.wire import Message

DEFAULTS: Final[dict[str, Any]] = {
    "retention": "limits",
    "max_consumers": -1,
    "max_msgs": -1,
    "max_bytes": -1,
    "max_age": 0,
    "max_msgs_per_subject": -1,
    "max_msg_size": -1,
    "discard": "old",
    "storage": "file",
    "num_replicas": 1,
    "compression": "none",
    "allow_direct": False,
    "mirror_direct": False,
    "sealed": False,
    "deny_delete": False,
    "deny_purge": False,
    "allow_rollup_hdrs": False,
    "allow_msg_ttl": False,
}
DUPLICATE_WINDOW_NS: Final = 120 * NANO
ANY_VALUE: Final = {
    *("name", "subjects", "max_msgs", "max_bytes", "max_age", "max_msgs_per_subject", "discard", "num_replicas"),
    *("compression", "deny_delete", "deny_purge", "allow_rollup_hdrs", "allow_msg_ttl", "duplicate_window"),
    *("subject_delete_marker_ttl", "first_seq", "metadata", "allow_atomic"),
}
"""The options of a stream that may have any value here. All others must have their default value, because only that is
simulated."""
MAY_CHANGE: Final = {"max_msgs", "max_bytes", "max_age", "discard", "deny_delete", "deny_purge", "metadata"}

NOT_FOUND: Final = Refused(404, 10059, "stream not found")


def not_simulated(what: str) -> Refused:
    return Refused(501, 0, f"The simulated NATS does not know {what}")


class Store:
    def __init__(self, outlet: Outlet, now: Callable[[], datetime], bytes_max: int | None) -> None:
        self.streams: dict[str, Stream] = {}
        self.is_full = False
        """Whether the disk is full; tests set it. If somebody publishes to a stream while the disk is full, that stream
        answers no publish any more until a restart, as in nats-server."""
        self._bytes_max = bytes_max
        self._stalled: set[str] = set()
        self._batches = Batches()
        self._outlet = outlet
        self._now = now
        self._consumers: dict[str, dict[str, Consumer]] = {}
        self._numbers = itertools.count(1)
        self._by_subject: dict[str, Stream | None] = {}

    def stream(self, name: str) -> Stream:
        try:
            found = self.streams[name]
        except KeyError:
            raise NOT_FOUND from None
        found.expire()
        return found

    def stream_of(self, subject: str) -> Stream | None:
        """Return the stream that stores a subject."""
        try:
            return self._by_subject[subject]
        except KeyError:
            patterns = ((pattern, stream) for stream in self.streams.values() for pattern in stream.config["subjects"])
            found = next((stream for pattern, stream in patterns if matches(pattern, subject)), None)
            self._by_subject[subject] = found
            return found

    def create(self, asked: dict[str, Any]) -> Stream:
        config = _complete(asked)
        name = config["name"]
        if (present := self.streams.get(name)) is not None:
            if present.config != config:
                raise Refused(400, 10058, "stream name already in use with a different configuration")
            return present
        taken = [pattern for stream in self.streams.values() for pattern in stream.config["subjects"]]
        if any(overlap(one, other) for one in config["subjects"] for other in taken):
            raise Refused(400, 10065, "subjects overlap with an existing stream")
        if self._bytes_max is not None and config["max_bytes"] > self._bytes_max:
            raise Refused(500, 10047, "insufficient storage resources available")
        self._by_subject.clear()
        self._consumers[name] = {}
        return self.streams.setdefault(name, Stream(config, self._now))

    def update(self, asked: dict[str, Any]) -> Stream:
        stream = self.stream(asked["name"])
        before, config = stream.config, _complete(asked)
        for option, text in (("deny_delete", "deny message deletes"), ("deny_purge", "deny purge")):
            if before[option] and not config[option]:
                raise Refused(500, 10052, f"stream configuration update can not cancel {text}")
        changed = {option for option in before.keys() | config.keys() if before.get(option) != config.get(option)}
        if changed - MAY_CHANGE:
            raise not_simulated(f"an update of {sorted(changed - MAY_CHANGE)}")
        stream.config = config
        stream.enforce_limits()
        return stream

    def delete(self, name: str) -> None:
        self.stream(name)
        del self.streams[name]
        self._by_subject.clear()
        for consumer in self._consumers.pop(name).values():
            consumer.delete()

    def append(self, message: Message, stream: Stream) -> dict[str, Any] | None:
        """Store a message. Return what the sender is told; None: there is no answer."""
        name = stream.config["name"]
        if self.is_full:
            self._stalled.add(name)
        if name in self._stalled:
            return None
        stream.expire()
        if self._bytes_max is not None and sum(one.bytes for one in self.streams.values()) >= self._bytes_max:
            raise Refused(503, 10023, "insufficient resources")
        if ID.encode() in message.headers:
            told = self._batches.add(message, stream)
        else:
            seq, duplicate = stream.append(message)
            told = {"seq": seq, "duplicate": True} if duplicate else {"seq": seq}
        for consumer in list(self._consumers[name].values()):
            consumer.deliver()
        return told

    def consume(self, stream: Stream, config: dict[str, Any]) -> Consumer:
        name = f"consumer{next(self._numbers)}"
        consumer = Consumer(name, stream, config, self._outlet)
        return self._consumers[stream.config["name"]].setdefault(name, consumer)

    def consumer(self, stream: str, name: str) -> Consumer | None:
        return self._consumers.get(stream, {}).get(name)

    def delete_consumer(self, stream: str, name: str) -> None:
        self.stream(stream)
        consumer = self._consumers[stream].pop(name, None)
        if consumer is None:
            raise Refused(404, 10014, "consumer not found")
        consumer.delete()

    def restart(self) -> None:
        """Keep the streams, as a server does that syncs every write; forget the consumers, which are in memory."""
        self._stalled.clear()
        self._batches.clear()
        for consumers in self._consumers.values():
            for consumer in consumers.values():
                consumer.close()
            consumers.clear()


def _complete(asked: dict[str, Any]) -> dict[str, Any]:
    given = {option: value for option, value in asked.items() if value not in (None, "", [], {})}
    config = {**DEFAULTS, **given, "subjects": asked["subjects"]}
    config["max_age"] = config["max_age"] or 0
    window_ns = min(DUPLICATE_WINDOW_NS, config["max_age"] or DUPLICATE_WINDOW_NS)
    config["duplicate_window"] = config.get("duplicate_window") or window_ns
    # A limit of 0 means the same as -1: no limit.
    config |= {option: config[option] or -1 for option in ("max_msgs", "max_bytes", "max_msgs_per_subject")}
    config = {option: value for option, value in config.items() if value is not False or option in DEFAULTS}
    unknown = {option for option in config.keys() - ANY_VALUE if config[option] != DEFAULTS.get(option)}
    if unknown:
        raise not_simulated(f"the options {sorted(unknown)} of a stream")
    if config.get("allow_atomic") and (config["discard"] == "old" or config["max_msgs_per_subject"] > 0):
        raise not_simulated("atomic batches in a stream that discards old messages")
    if config["num_replicas"] > 1:
        raise Refused(500, 10074, "replicas > 1 not supported in non-clustered mode")
    if config.get("subject_delete_marker_ttl"):
        config["allow_rollup_hdrs"] = True
    return config
