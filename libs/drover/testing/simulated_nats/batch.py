"""Atomic batches: messages that are stored together, or not at all."""

from __future__ import annotations

from typing import Any, Final

from drover.testing.simulated_nats.stream import Refused, Stream
from drover.testing.simulated_nats.wire import Message, decode_headers

ID: Final = "Nats-Batch-Id"
MESSAGES_MAX: Final = 1000


class Batches:
    """The batches that clients have begun and not committed."""

    def __init__(self) -> None:
        self._open: dict[str, list[Message]] = {}

    def add(self, message: Message, stream: Stream) -> dict[str, Any]:
        """Add a message to its batch, and store the batch if the message is its last one. Return what the sender is
        told."""
        headers = decode_headers(message.headers)
        if not stream.config.get("allow_atomic"):
            raise Refused(400, 10174, "atomic publish is disabled")
        id_, number = headers[ID], int(headers["Nats-Batch-Sequence"])
        batch = self._open.pop(id_, [])
        if number != len(batch) + 1:
            raise Refused(400, 10176, "atomic publish batch is incomplete")
        if number > MESSAGES_MAX:
            raise Refused(400, 10199, f"atomic publish batch is too large: {MESSAGES_MAX}")
        batch.append(message)
        if "Nats-Batch-Commit" in headers:
            return {"seq": stream.append_all(batch), "batch": id_, "count": number}
        self._open[id_] = batch
        return {}

    def clear(self) -> None:
        self._open.clear()
