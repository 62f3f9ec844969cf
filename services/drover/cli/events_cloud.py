"""Maps events to CloudEvents 1.0 in JSON. docs/operations.md explains the mapping."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from drover.archive.text import Placed
from drover.cli.record import Record

SPEC: Final = "1.0"
SEQUENCE_DIGITS: Final = 20


def cloud_event(context: str, placed: Placed, record: Record) -> bytes:
    """Make the CloudEvent of an event. Its `id` is the position in the log, as `drover events show` takes it, and is
    unique in `source`."""
    envelope = record.envelope
    fields: dict[str, Any] = {
        "specversion": SPEC,
        "id": record.place,
        "source": f"/drover/{context}/{placed.partition}",
        "type": f"drover.{context}.{envelope.type}",
        "time": envelope.at,
        "datacontenttype": "application/json",
        # The extension `sequence`: text that sorts like the ordinals. Integers of CloudEvents end at 2^31.
        "sequence": f"{envelope.n:0{SEQUENCE_DIGITS}d}",
        "actor": envelope.by or None,
        "cause": envelope.cause or None,
        "commit": placed.commit.id,
        "traceparent": envelope.trace,
        "data": record.own,
    }
    return msgspec.json.encode({name: value for name, value in fields.items() if value is not None})
