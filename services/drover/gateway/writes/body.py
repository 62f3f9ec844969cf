"""Decodes the body of a write. Sets columns without effect aside, and refuses columns that the relation lacks."""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar

import msgspec

from drover.readmodel.relation import Relation
from drover.web.bodies import Body
from drover.web.errors import ApiError, invalid

ROWS_PER_POST_MAX: Final = 100

T = TypeVar("T", bound=msgspec.Struct)


class Given(msgspec.Struct, Generic[T], frozen=True):
    """A decoded body."""

    rows: list[T]
    many: bool
    """Whether the body was an array."""
    names: dict[str, None]
    """The columns in the body, of all rows together, that have an effect in this write."""
    ignored: dict[str, None]
    """The other columns of the relation in the body, of all rows together. They have no effect in this write."""


class RowBody(Generic[T]):
    """Decodes rows into `shape`: the columns that have an effect in a write, whether or not the relation has them."""

    def __init__(self, shape: type[T], relation: Relation) -> None:
        self._body = Body(shape)
        self._relation = relation
        self._fields = frozenset(field.encode_name for field in msgspec.structs.fields(shape))

    def decode(self, raw: bytes) -> Given[T]:
        """Decode one row, for a PATCH. Refuse a body whose columns all have no effect."""
        given = self._decode(raw, count_max=1, some=True)
        if given.many:
            raise invalid("The body must be a JSON object")
        return given

    def decode_many(self, raw: bytes) -> Given[T]:
        """Decode one row or an array of rows, for a POST."""
        return self._decode(raw, count_max=ROWS_PER_POST_MAX)

    def _decode(self, raw: bytes, *, count_max: int, some: bool = False) -> Given[T]:
        names: dict[str, None] = {}
        ignored: dict[str, None] = {}

        def prepare(parsed: Any, prefix: str) -> Any:
            if not isinstance(parsed, dict):
                return parsed
            meant = {name: value for name, value in parsed.items() if name in self._fields}
            names.update(dict.fromkeys(meant))
            if len(meant) < len(parsed):
                others = [name for name in parsed if name not in self._fields]
                for name in others:
                    if name not in self._relation.columns:
                        raise _unknown(self._relation, name, prefix)
                ignored.update(dict.fromkeys(others))
                if some and not meant:
                    raise invalid(f"{', '.join(others)} cannot be written here", field=others[0])
            return meant

        rows, many = self._body.decode_many(raw, count_max=count_max, prepare=prepare)
        return Given(rows, many, names, ignored)


def _unknown(relation: Relation, name: str, prefix: str) -> ApiError:
    message = f"Could not find the '{name[:64]}' column of '{relation.name}' in the schema cache"
    return ApiError(400, "PGRST204", message, details={"field": prefix + name[:64]})
