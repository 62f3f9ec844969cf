"""Decides which relations and rows a caller's stream sends: those that the caller may read."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from drover.api.rows.line import RowsTold
from drover.readmodel.live import LiveRelation
from drover.web.auth import Principal
from drover.web.permissions import Permissions, Verb

SEEN_MAX: Final = 10_000
"""How many keys of sent rows a stream remembers, to report those that its caller may no longer see."""

_decode: Final = msgspec.json.Decoder(RowsTold).decode
_decode_row: Final = msgspec.json.Decoder(dict[str, Any]).decode
_encode: Final = msgspec.json.Encoder().encode


class OwnRows:
    """Keeps only the rows of one device. For all other rows, not even the keys are sent."""

    def __init__(self, live: LiveRelation, device_id: str) -> None:
        assert live.relation.owner is not None, f"{live.name} does not say which device owns a row"
        self._owner = live.relation.owner
        self._key = live.key
        self._device_id = device_id
        self._seen: OrderedDict[bytes, None] = OrderedDict()

    def filter(self, data: bytes) -> bytes:
        """Filter the data of an event `rows`. Empty: nothing is left for this caller."""
        told = _decode(data)
        rows, gone = [], [*told.gone]
        for raw in told.rows:
            row = _decode_row(raw)
            key = _encode([row[name] for name in self._key])
            if row[self._owner] == self._device_id:
                rows.append(raw)
                self._remember(key)
            elif key in self._seen:  # the caller may no longer see it
                del self._seen[key]
                gone.append(msgspec.Raw(key))
        if not rows and not gone:
            return b""
        return _encode(msgspec.structs.replace(told, rows=rows, gone=gone))

    def _remember(self, key: bytes) -> None:
        self._seen[key] = None
        self._seen.move_to_end(key)
        if len(self._seen) > SEEN_MAX:
            self._seen.popitem(last=False)


def row_filters(
    principal: Principal,
    relations: Iterable[str],
    live: Mapping[str, tuple[LiveRelation, ...]],
    permissions: Permissions,
) -> dict[str, OwnRows]:
    """Make a filter per relation for a caller who may read only its own rows. Raises 403 for a relation that it may not
    read."""
    filters: dict[str, OwnRows] = {}
    for name in relations:
        if permissions.demand(principal, name, Verb.READ).own:
            assert principal.device_id is not None
            filters[name] = OwnRows(live[name][0], principal.device_id)
    return filters
