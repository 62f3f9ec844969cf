"""What a measurement looks like, and how two ways of doing a thing are compared fairly on a noisy machine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

ROUNDS = 5


class Figure(msgspec.Struct):
    """One line of build/bench.json. `ratio` is value / limit; `ok` says whether it meets `target`."""

    name: str
    value: float
    unit: str
    limit: float
    ratio: float
    target: str
    ok: bool


def at_least(name: str, value: float, limit: float, target: float, unit: str) -> Figure:
    ratio = value / limit
    return Figure(name, round(value, 4), unit, round(limit, 4), round(ratio, 3), f">= {target}", ratio >= target)


def at_most(name: str, value: float, limit: float, target: float, unit: str) -> Figure:
    ratio = value / limit
    return Figure(name, round(value, 4), unit, round(limit, 4), round(ratio, 3), f"<= {target}", ratio <= target)


async def side_by_side(
    ours: Callable[[], Awaitable[float]], bare: Callable[[], Awaitable[float]], rounds: int = ROUNDS
) -> tuple[float, float]:
    """Both, taken in turns, so that a busy neighbour slows them alike: the pair with the median ratio."""
    await bare()
    await ours()
    figures = [(await ours(), await bare()) for _ in range(rounds)]
    figures.sort(key=lambda pair: pair[0] / pair[1])
    return figures[len(figures) // 2]
