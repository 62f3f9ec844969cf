"""Makes a value of any type that a state contains, with something in every field and every collection."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import msgspec
from msgspec import inspect

from drover.domain.decider import Decider
from drover.writer.fold import FoldImage
from drover.writer.idempotency import MemoryEntry

MOMENT: Final = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
DEPTH_MAX: Final = 12
"""How deep values are nested. Beyond it, the collections of types that contain themselves stay empty."""

_PLAIN: Final[dict[type[inspect.Type], Any]] = {
    inspect.BoolType: True,
    inspect.FloatType: 1.5,
    inspect.BytesType: b"bytes",
    inspect.DateTimeType: MOMENT,
    inspect.DateType: MOMENT.date(),
    inspect.TimeDeltaType: timedelta(seconds=90),
    inspect.UUIDType: UUID(int=1),
    inspect.NoneType: None,
    inspect.AnyType: "anything",
}


def sample_image(decider: Decider[Any]) -> bytes:
    """Make a snapshot of a decider, in the form in which it is stored."""
    state = sample_of(inspect.type_info(decider.state))
    entry = MemoryEntry("key", "digest", 7, MOMENT)
    return msgspec.msgpack.encode(
        FoldImage(
            seq=7,
            n=9,
            at=MOMENT,
            epoch=2,
            remembered=[entry],
            state=msgspec.Raw(msgspec.msgpack.encode(state)),
            commit="commit",
        )
    )


def sample_of(type_: inspect.Type, depth: int = 0) -> Any:
    if type(type_) in _PLAIN:
        return _PLAIN[type(type_)]
    match type_:
        case inspect.IntType():
            return max(1, type_.ge or 0, (type_.gt or 0) + 1)
        case inspect.StrType():
            return "text"
        case inspect.EnumType():
            return next(iter(type_.cls))
        case inspect.LiteralType():
            return type_.values[0]
        case inspect.Metadata():
            return sample_of(type_.type, depth)
        case inspect.UnionType():
            return sample_of(_widest(type_), depth)
        case inspect.StructType():
            return type_.cls(**{field.name: sample_of(field.type, depth + 1) for field in type_.fields})
        case inspect.TupleType():
            return tuple(sample_of(item, depth + 1) for item in type_.item_types)
    return _collection(type_, depth)


def _collection(type_: inspect.Type, depth: int) -> Any:
    is_full = depth < DEPTH_MAX
    match type_:
        case inspect.DictType():
            entry = (type_.key_type, type_.value_type)
            return dict([tuple(sample_of(part, depth + 1) for part in entry)]) if is_full else {}
        case inspect.ListType() | inspect.SetType() | inspect.FrozenSetType() | inspect.VarTupleType():
            return [sample_of(type_.item_type, depth + 1)] if is_full else []
    raise TypeError(f"no sample of {type_}")


def _widest(union: inspect.UnionType) -> inspect.Type:
    """Return the alternative that says most: a struct rather than a text, and a text rather than nothing."""
    order = (inspect.StructType, inspect.DictType, inspect.ListType)
    alternatives = [one for one in union.types if not isinstance(one, inspect.NoneType)]
    return next((one for kind in order for one in alternatives if isinstance(one, kind)), alternatives[0])
