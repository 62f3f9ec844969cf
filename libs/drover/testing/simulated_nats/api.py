"""JetStream's API: requests on `$JS.API.…` and their answers."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import msgspec

from drover.testing.simulated_nats.store import Store, not_simulated
from drover.testing.simulated_nats.stream import Refused, Stored, Stream
from drover.testing.simulated_nats.wire import Message

PREFIX: Final = "$JS.API."
PULL: Final = "CONSUMER.MSG.NEXT."
_NEVER: Final = "0001-01-01T00:00:00Z"
_NO_LIMITS: Final = {
    **dict.fromkeys(("max_memory", "max_storage", "max_streams", "max_consumers", "max_ack_pending"), -1),
    **dict.fromkeys(("memory_max_stream_bytes", "storage_max_stream_bytes"), -1),
    "max_bytes_required": False,
}
_BAD_REQUEST: Final = Refused(400, 10003, "bad request")


class Api:
    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now
        self._verbs: dict[str, Callable[[str, dict[str, Any]], dict[str, Any]]] = {
            "INFO": self._account_info,
            "STREAM.CREATE": self._create,
            "STREAM.UPDATE": self._update,
            "STREAM.INFO": self._info,
            "STREAM.DELETE": self._delete,
            "STREAM.PURGE": self._purge,
            "STREAM.MSG.GET": self._get,
            "STREAM.MSG.DELETE": self._delete_message,
            "CONSUMER.CREATE": self._consume,
            "CONSUMER.DELETE": self._delete_consumer,
        }

    def answer(self, message: Message) -> bytes | None:
        """Return the answer to a request. Empty: no answer is sent, because a pull gets messages instead. None: nobody
        receives the request, as for a consumer that is gone."""
        subject = message.subject.removeprefix(PREFIX)
        body = msgspec.json.decode(message.data, type=dict[str, Any]) if message.data else {}
        if subject.startswith(PULL):
            return self._pull(subject.removeprefix(PULL), body, message.reply)
        for verb, handle in self._verbs.items():
            if subject == verb or subject.startswith(f"{verb}."):
                try:
                    return msgspec.json.encode(handle(subject[len(verb) + 1 :], body))
                except Refused as refused:
                    return msgspec.json.encode({"error": refused.error})
        return msgspec.json.encode({"error": not_simulated(message.subject).error})

    def _pull(self, name: str, request: dict[str, Any], reply: str) -> bytes | None:
        consumer = self._store.consumer(*name.split("."))
        if consumer is None:
            return None
        consumer.pull(request, reply)
        return b""

    def _account_info(self, _: str, request: dict[str, Any]) -> dict[str, Any]:
        used = sum(stream.bytes for stream in self._store.streams.values())
        counts = {"memory": 0, "storage": used, "streams": len(self._store.streams), "consumers": 0}
        return {**counts, "limits": _NO_LIMITS, "api": {"level": 5, "total": 0, "errors": 0}}

    def _create(self, _: str, config: dict[str, Any]) -> dict[str, Any]:
        return self._told(self._store.create(config))

    def _update(self, _: str, config: dict[str, Any]) -> dict[str, Any]:
        return self._told(self._store.update(config))

    def _info(self, name: str, request: dict[str, Any]) -> dict[str, Any]:
        stream = self._store.stream(name)
        told = self._told(stream)
        if (pattern := request.get("subjects_filter")) is not None:
            told["state"]["subjects"] = stream.subjects(pattern)
        return told

    def _told(self, stream: Stream) -> dict[str, Any]:
        first = stream.get(stream.first_seq)
        state = {
            "messages": len(stream),
            "bytes": stream.bytes,
            "first_seq": stream.first_seq,
            "first_ts": first.at if first else _NEVER,
            "last_seq": stream.last_seq,
            "last_ts": stream.last_at or _NEVER,
            "num_subjects": len(stream.subjects(">")),
            "consumer_count": 0,
        }
        return {"config": stream.config, "created": stream.created, "state": state, "ts": self._now()}

    def _delete(self, name: str, _: dict[str, Any]) -> dict[str, Any]:
        self._store.delete(name)
        return {"success": True}

    def _purge(self, name: str, request: dict[str, Any]) -> dict[str, Any]:
        stream = self._store.stream(name)
        below, keep = request.get("seq"), request.get("keep", 0)
        if below and keep:
            raise _BAD_REQUEST
        return {"success": True, "purged": stream.purge(request.get("filter", ">"), below=below, keep=keep)}

    def _get(self, name: str, request: dict[str, Any]) -> dict[str, Any]:
        found = _find(self._store.stream(name), request)
        if found is None:
            raise Refused(404, 10037, "no message found")
        told = {"subject": found.subject, "seq": found.seq, "time": found.at}
        if found.headers:
            told["hdrs"] = base64.b64encode(found.headers).decode()
        if found.data:
            told["data"] = base64.b64encode(found.data).decode()
        return {"message": told}

    def _delete_message(self, name: str, _: dict[str, Any]) -> dict[str, Any]:
        if not self._store.stream(name).config["deny_delete"]:
            raise not_simulated("how to delete a single message")
        raise Refused(500, 10057, "message delete not permitted")

    def _consume(self, name: str, request: dict[str, Any]) -> dict[str, Any]:
        config = request["config"]
        kind = (config.get("deliver_policy"), config.get("ack_policy"), config.get("mem_storage"))
        if kind != ("by_start_sequence", "none", True):
            raise not_simulated(f"consumers of the kind {kind}")
        consumer = self._store.consume(self._store.stream(name), config)
        where = {"delivered": consumer.position, "ack_floor": consumer.position}
        counts = {"num_ack_pending": 0, "num_redelivered": 0, "num_waiting": 0, "num_pending": consumer.pending()}
        return {"stream_name": name, "name": consumer.name, "created": self._now(), "config": config, **where, **counts}

    def _delete_consumer(self, name: str, _: dict[str, Any]) -> dict[str, Any]:
        stream, _dot, consumer = name.partition(".")
        self._store.delete_consumer(stream, consumer)
        return {"success": True}


def _find(stream: Stream, request: dict[str, Any]) -> Stored | None:
    match request:
        case {"last_by_subj": subject}:
            return stream.last_of(subject)
        case {"next_by_subj": subject, **rest}:
            return next(stream.from_(rest.get("seq", 0), subject), None)
        case {"seq": seq} if seq:
            return stream.get(seq)
    raise _BAD_REQUEST
