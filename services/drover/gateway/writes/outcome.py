"""Sorts the results of a PATCH or DELETE into changed and refused rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final
from urllib.parse import quote

import msgspec

from drover.bus.messages import Accepted, Rejected
from drover.domain.errors import Code
from drover.gateway.writes.declaration import Result, Target
from drover.gateway.writes.selection import Selection
from drover.gateway.writes.sending import Sending
from drover.web.errors import ApiError

REFUSED_NAMED_MAX: Final = 100
"""The header `Drover-Refused` names at most this many rows, because clients limit the size of headers."""
REFUSED_CHARS_MAX: Final = 3_500
"""The maximum length of the header `Drover-Refused`. Ids may be long, and some proxies accept 4 KiB of headers in
all."""
_SEPARATOR: Final = ", "
_MOVED_ON: Final = frozenset({404, 409})


class Done(msgspec.Struct, frozen=True):
    rows: dict[str, Accepted | None]
    """The results of changed rows, by id. None: there was nothing to record."""
    refused: Mapping[str, ApiError]
    """The refusals of other rows, by id. Only those that do not fail the whole request."""

    @property
    def headers(self) -> dict[str, str]:
        if not self.refused:
            return {}
        named = list(_named(self.refused))
        headers = {"Drover-Refused": _SEPARATOR.join(named)}
        if len(self.refused) > len(named):
            headers["Drover-Refused-Count"] = str(len(self.refused))
        return headers


def _named(refused: Mapping[str, ApiError]) -> Iterator[str]:
    left = REFUSED_CHARS_MAX
    for id_, error in islice(refused.items(), REFUSED_NAMED_MAX):
        text = f"{quote(id_, safe='')}={error.code}"
        left -= len(text) + len(_SEPARATOR)
        if left < 0:
            return
        yield text


def settle(selection: Selection, results: Sequence[Result], sending: Sending) -> Done:
    """Sort the results into changed and refused rows. Raise a refusal that fails the whole request."""
    rows: dict[str, Accepted | None] = {}
    refused: dict[str, ApiError] = {}
    for target, result in zip(selection.targets, results, strict=True):
        if isinstance(result, ApiError):
            refused[target.id] = result
        elif isinstance(result, Rejected):
            refused[target.id] = sending.refusal(result)
        else:
            rows[target.id] = result
    if selection.by_key:
        _raise_first(selection.targets, rows, refused, sending)
        return Done(rows, {})
    for error in refused.values():
        if not rows and error.status not in _MOVED_ON:  # for example, no writer answers
            raise error
    return Done(rows, {id_: error for id_, error in refused.items() if error.code != Code.NOT_FOUND})


def _raise_first(
    targets: Sequence[Target],
    rows: Mapping[str, Accepted | None],
    refused: Mapping[str, ApiError],
    sending: Sending,
) -> None:
    """Raise the first refusal, with the ids of the rows that were changed.

    Unknown rows are skipped, unless all rows are unknown.
    """
    for id_, error in sorted(refused.items(), key=lambda item: item[1].code == Code.NOT_FOUND):
        if error.code == Code.NOT_FOUND and rows:
            return
        if len(targets) > 1:
            details = error.details if isinstance(error.details, dict) else {}
            error.details = {**details, "id": id_, "accepted": list(rows)}
            error.hint = "Rows whose id is in details.accepted were changed."
            error.headers.update(sending.headers)
        raise error
