"""Core Web Vitals of a page, computed as browsers' vendors define them from what Chromium reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from playwright.async_api import Page

SCRIPT: Final = (Path(__file__).parent / "vitals.js").read_text(encoding="utf-8")
"""For `add_init_script`."""

LCP_GOOD_MS: Final = 2_500.0
INP_GOOD_MS: Final = 200.0
CLS_GOOD: Final = 0.1

UNNOTICED_MS: Final = 16.0
"""Chromium reports no interaction that was faster."""
SESSION_GAP_MS: Final = 1_000.0
SESSION_MS: Final = 5_000.0
FORGIVEN_ONE_IN: Final = 50


class Shift(NamedTuple):
    """A layout shift that nobody caused."""

    at_ms: float
    value: float
    moved: str


class Interaction(NamedTuple):
    """From a key or a click to the frame that shows its effect."""

    ms: float
    waited_ms: float
    """Until the page began with it."""
    ran_ms: float
    what: str


class Vitals(NamedTuple):
    """Of one visit."""

    lcp_ms: float
    inp_ms: float
    cls: float
    interactions: int
    said: str
    """What was largest, slowest and moved most."""


def worst_session(shifts: Iterable[Shift]) -> float:
    """CLS: shifts at most a second apart belong together, for at most five seconds. The worst such sum counts."""
    worst = total = 0.0
    began = last = float("-inf")
    for shift in sorted(shifts):
        if shift.at_ms - last >= SESSION_GAP_MS or shift.at_ms - began >= SESSION_MS:
            began, total = shift.at_ms, 0.0
        last = shift.at_ms
        total += shift.value
        worst = max(worst, total)
    return worst


def slow_interaction(interactions: Sequence[Interaction], made: int) -> float:
    """INP: the slowest interaction, but one in 50 is forgiven. `made`: how many there were, also those that were too
    fast to be reported."""
    slowest = sorted((one.ms for one in interactions), reverse=True)
    forgiven = max(made, len(slowest)) // FORGIVEN_ONE_IN
    return slowest[forgiven] if forgiven < len(slowest) else UNNOTICED_MS


def third_quartile(values: Iterable[float]) -> float:
    """Of several visits: three in four are as good as this or better."""
    ordered = sorted(values)
    return ordered[-(-3 * len(ordered) // 4) - 1]


async def read_vitals(page: Page, made: int) -> Vitals:
    """Read what the page has collected. `made`: how many keys and clicks there were."""
    read = await page.evaluate("() => window.__vitals")
    shifts = [Shift(*shift) for shift in read["shifts"]]
    interactions = [Interaction(*one) for one in read["interactions"].values()]
    said = [f"largest {read['painted']}"]
    if interactions:
        slow = max(interactions)
        said.append(f"slowest {slow.what}: {slow.ms:.0f} ms (waited {slow.waited_ms:.0f}, ran {slow.ran_ms:.0f})")
    if shifts:
        most = max(shifts, key=lambda shift: shift.value)
        said.append(f"moved most, at {most.at_ms / 1000:.1f} s by {most.value:.3f}: {most.moved}")
    return Vitals(read["paintMs"], slow_interaction(interactions, made), worst_session(shifts), made, "; ".join(said))
