"""Turns messages of changed rows into `postgres_changes` frames. Decodes each row once, makes equal frames once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from drover.api.realtime.bindings import SCHEMA, Live
from drover.api.realtime.frames import encode
from drover.api.realtime.metrics import CHANGES
from drover.api.realtime.subscriptions import Hits, Select, Subscriptions, Type
from drover.bus.rows import RowsChanged
from drover.readmodel.column import PgType
from drover.readmodel.live import LiveRelation

EVENT: Final = "postgres_changes"

_encode: Final = msgspec.json.Encoder().encode
_decode_row: Final = msgspec.json.Decoder(dict[str, Any]).decode
_ARRAYS: Final = {PgType.TEXT_ARRAY: "_text", PgType.INTEGER_ARRAY: "_int4"}
"""The names of array types in the catalogue of Postgres. Clients expect these."""


class _Shape:
    """The parts of a frame that all changes of one relation share."""

    def __init__(self, live: LiveRelation) -> None:
        self._live = live
        self.key = live.key
        self._columns: dict[Select, msgspec.Raw] = {}

    def columns(self, select: Select) -> msgspec.Raw:
        if select not in self._columns:
            shown = [
                {"name": name, "type": self._type(name)}
                for name in self._live.relation.columns
                if name not in self._live.withheld and (select is None or name in select)
            ]
            if select is not None:  # clients choose it, so a cache would grow without limit
                return msgspec.Raw(_encode(shown))
            self._columns[select] = msgspec.Raw(_encode(shown))
        return self._columns[select]

    def _type(self, column: str) -> str:
        type_ = self._live.relation.client_type(column)
        assert type_ is not None
        return _ARRAYS.get(type_, type_.value)

    def record(self, raw: msgspec.Raw, row: dict[str, Any], select: Select) -> msgspec.Raw:
        """Make the `record` of a frame. Columns whose values are withheld from live rows are left out, because null
        would mean that they are empty."""
        if select is not None:
            return msgspec.Raw(_encode({name: row.get(name) for name in select}))
        if self._live.withheld:
            return msgspec.Raw(_encode({name: row[name] for name in row if name not in self._live.withheld}))
        return raw


class Change:
    """One changed row, with a cache of the frames made from it."""

    def __init__(self, shape: _Shape, relation: str, type_: Type, at: str) -> None:
        self._shape = shape
        self._relation = relation
        self._type = type_
        self._at = at
        self._data: dict[Select, msgspec.Raw] = {}
        self._frames: dict[Any, bytes] = {}

    def send(self, hits: Hits[Any], key: dict[str, Any], row: dict[str, Any], raw: msgspec.Raw | None) -> None:
        for (subscriber, select), ids in hits.items():
            kind = (subscriber.vsn, subscriber.topic, tuple(ids), select)
            frame = self._frames.get(kind)
            if frame is None:
                data = self._data.get(select)
                if data is None:
                    data = self._data[select] = self._describe(key, row, raw, select)
                payload = _encode({"ids": ids, "data": data})
                # Without a join_ref, so that all clients with this subscription can get the same frame.
                frame = self._frames[kind] = encode(subscriber.vsn, subscriber.topic, EVENT, payload)
            subscriber.send(frame)

    def _describe(
        self, key: dict[str, Any], row: dict[str, Any], raw: msgspec.Raw | None, select: Select
    ) -> msgspec.Raw:
        data: dict[str, Any] = {
            "schema": SCHEMA,
            "table": self._relation,
            "commit_timestamp": self._at,
            "type": self._type,
            "columns": self._shape.columns(select),
            "errors": None,
        }
        if raw is not None:
            data["record"] = self._shape.record(raw, row, select)
        if self._type is not Type.INSERT:
            data["old_record"] = key
        return msgspec.Raw(_encode(data))


class Changes:
    """Sends changed rows to their subscribers. Call it only with messages that follow one another without a gap."""

    def __init__(self, subscriptions: Subscriptions[Any], live: Live) -> None:
        self._subscriptions = subscriptions
        self._shapes = {name: _Shape(many[0]) for name, many in live.items()}

    def changed(self, relation: str, message: RowsChanged) -> None:
        if relation not in self._subscriptions:
            return
        shape = self._shapes[relation]
        at = _timestamp(message.at)
        new = {_encode(key) for key in message.new}
        for raw in message.rows:
            row = _decode_row(raw)
            key = {name: row[name] for name in shape.key}
            type_ = Type.INSERT if new and _encode([*key.values()]) in new else Type.UPDATE
            if hits := self._subscriptions.written(relation, type_, row):
                Change(shape, relation, type_, at).send(hits, key, row, raw)
                CHANGES.inc(len(hits))
        for values in message.gone:
            key = dict(zip(shape.key, values, strict=True))
            if hits := self._subscriptions.deleted(relation, key):
                Change(shape, relation, Type.DELETE, at).send(hits, key, key, None)
                CHANGES.inc(len(hits))


def _timestamp(at: datetime | None) -> str:
    moment = (at or datetime.now(UTC)).astimezone(UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
