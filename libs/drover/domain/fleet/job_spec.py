"""What a client may set on a job: fields, defaults, bounds, and the rules between fields. The one place for all of it.

The command and the row have these fields by inheritance; the event lists them (ADR 0026).
"""

from __future__ import annotations

from typing import Annotated, Final, get_args, get_type_hints

import msgspec
from msgspec import Meta

from drover.domain.decider import Rejection
from drover.domain.field_checks import check_range, invalid
from drover.domain.fleet.events import Target
from drover.domain.fleet.field_patterns import TEXTS
from drover.domain.fleet.policy import (
    PROBABILITIES_SUM_MAX,
    TARGET_COUNT_MAX,
    TARGET_DEVICES_MAX,
    TARGET_URL_CHARS_MAX,
    TITLE_CHARS_MAX,
)

SCRIPT_TYPES: Final = ("youtube_watch", "youtube_shorts", "youtube_subscribe")


def between(low: int, high: int) -> Meta:
    """Bounds for `check_spec`. Decoding ignores them: a client is told in our words, and what was written under other
    bounds stays readable."""
    return Meta(extra={"between": (low, high)})


Share = Annotated[int, between(10, 100)]
"""Of the length of what is watched, in percent."""
Chance = Annotated[int, between(0, 100)]


class JobSpec(msgspec.Struct, frozen=True):
    """What the client wrote. Whether the job may have its turn is no part of it: that changes."""

    target_url: str
    title: str | None = None
    script_type: str = SCRIPT_TYPES[0]
    duration_min_pct: Share = 30
    duration_max_pct: Share = 90
    prob_like: Chance = 50
    prob_comment: Chance = 30
    prob_playlist: Chance = 10
    base_reward: float = 10
    target: Target | None = None
    """For which devices it is; null: for all."""


def check_spec(spec: JobSpec) -> Rejection | None:
    """Why no job can be like this, or None."""
    return _texts(spec) or _bounds(spec) or _sums(spec) or _target(spec.target)


def _bounds(spec: JobSpec) -> Rejection | None:
    for name, (low, high) in _BOUNDS.items():
        if refusal := check_range(low, high, **{name: getattr(spec, name)}):
            return refusal
    return None


def _read_bounds() -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for name, type_ in get_type_hints(JobSpec, include_extras=True).items():
        for mark in get_args(type_):
            if isinstance(mark, Meta) and mark.extra is not None:
                found[name] = mark.extra["between"]
    return found


_BOUNDS: Final = _read_bounds()


def _texts(spec: JobSpec) -> Rejection | None:
    if spec.title is not None and len(spec.title) > TITLE_CHARS_MAX:
        return invalid("title", len(spec.title), f"title must have at most {TITLE_CHARS_MAX} characters")
    if len(spec.target_url) > TARGET_URL_CHARS_MAX:
        return invalid(
            "target_url", len(spec.target_url), f"target_url must have at most {TARGET_URL_CHARS_MAX} characters"
        )
    if any(ord(character) <= 32 for character in spec.target_url):
        return invalid("target_url", spec.target_url, "target_url must be a URL, without spaces")
    if spec.script_type not in SCRIPT_TYPES:
        return invalid("script_type", spec.script_type, f"script_type must be one of {', '.join(SCRIPT_TYPES)}")
    return TEXTS.check(target_url=spec.target_url)


def _sums(spec: JobSpec) -> Rejection | None:
    if spec.duration_max_pct < spec.duration_min_pct:
        message = "duration_max_pct must be >= duration_min_pct"
        return invalid("duration_max_pct", spec.duration_max_pct, message, "V001")
    chances = spec.prob_like + spec.prob_comment + spec.prob_playlist
    if chances > PROBABILITIES_SUM_MAX:
        message = f"prob_like + prob_comment + prob_playlist must be <= {PROBABILITIES_SUM_MAX}"
        return invalid("prob_like", chances, message, "V002")
    if not 0 <= spec.base_reward < float("inf"):
        return invalid("base_reward", str(spec.base_reward), "base_reward must be a number >= 0")
    return None


def _target(target: Target | None) -> Rejection | None:
    if target is None:
        return None
    kinds = [name for name in ("group_id", "pc_id", "device_ids") if getattr(target, name) is not None]
    if len(kinds) > 1:
        return invalid("target", " and ".join(kinds), "target takes one of group_id, pc_id and device_ids")
    if target.device_ids is not None and len(target.device_ids) > TARGET_DEVICES_MAX:
        return invalid("target", len(target.device_ids), f"at most {TARGET_DEVICES_MAX} devices by name")
    for device_id in target.device_ids or ():
        if refusal := TEXTS.check(device_ids=device_id):
            return refusal
    return TEXTS.check(group_id=target.group_id, pc_id=target.pc_id) or check_range(
        1, TARGET_COUNT_MAX, count=target.count
    )
