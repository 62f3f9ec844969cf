"""Which routes were reached, by the answers that they gave: a route that only refused callers was not tried."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from tests.fuzz.hostile import Operation

ELSEWHERE: Final = frozenset({"getWorkerHealth", "pollForRenders"})
"""Operations of a render worker, which is a process of its own."""
REFUSED: Final = frozenset({0, 401, 403, 404, 405, 408, 429, 503})
"""The request got no further than the router, the check of the caller, or a limit; or nothing came back."""
OPEN_REFUSED: Final = REFUSED - {401, 403}
"""A route that takes no key checks the caller itself, by a password, a code or a cookie."""

Answers: TypeAlias = dict[str, Counter[int]]
"""Statuses by operation, as `GET /api/find`."""


def no_answers() -> Answers:
    return defaultdict(Counter)


def not_reached(operations: Iterable[Operation], answers: Answers, *, spared: Iterable[str] = ()) -> list[str]:
    """Return the operations of which no handler was tried. `spared`: ids of those that are not expected to be."""
    left = {*spared, *ELSEWHERE}
    return [one.name for one in operations if one.id not in left and not _is_reached(one, answers.get(one.name, {}))]


def _is_reached(one: Operation, statuses: Iterable[int]) -> bool:
    return not {*statuses} <= (OPEN_REFUSED if one.is_open else REFUSED)


def lines(operations: Iterable[Operation], contract: Answers, malformed: Answers) -> Iterator[str]:
    """Yield a line for each operation: how many requests it got of both kinds, and how it answered."""
    for one in operations:
        made_up, wrong = contract.get(one.name, Counter()), malformed.get(one.name, Counter())
        statuses = " ".join(f"{status}:{count}" for status, count in sorted((made_up + wrong).items()))
        yield f"{made_up.total():>6,} {wrong.total():>8,}  {one.name}  {statuses}"
