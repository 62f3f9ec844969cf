"""The fields that a client may set on a job, with their defaults, bounds and the rules between them.

They are declared only here. The command and the row inherit them; the event lists them (ADR 0026).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Final, get_args, get_type_hints

import msgspec
from msgspec import Meta

from drover.domain.decider import Rejection
from drover.domain.field_checks import check_range, invalid
from drover.domain.fleet.events import Target
from drover.domain.fleet.field_patterns import TEXTS
from drover.domain.fleet.policy import (
    PRIORITY_MAX,
    PROBABILITIES_SUM_MAX,
    TARGET_COUNT_MAX,
    TARGET_DEVICES_MAX,
)

SCRIPT_TYPES: Final = ("youtube_watch", "youtube_shorts", "youtube_subscribe")


def between(low: int, high: int) -> Meta:
    """Declare the bounds of a number. Only `check_spec` checks them, not the decoder: so clients get our own error
    messages, and jobs that were stored under other bounds can still be read."""
    return Meta(extra={"between": (low, high)})


def at_most(chars: int) -> Meta:
    """Declare the maximum length of a text. Only `check_spec` checks it, for the same reasons as `between`."""
    return Meta(extra={"chars_max": chars})


Share = Annotated[int, between(10, 100)]
"""How much of a video to watch, in percent of its length."""
Chance = Annotated[int, between(0, 100)]


class JobSpec(msgspec.Struct, frozen=True):
    """The fields that a client sets when it creates a job. Of these, only `priority` and `not_before` can
    change later."""

    target_url: Annotated[str, at_most(2048)]
    title: Annotated[str, at_most(200)] | None = None
    script_type: str = SCRIPT_TYPES[0]
    duration_min_pct: Share = 30
    duration_max_pct: Share = 90
    prob_like: Chance = 50
    prob_comment: Chance = 30
    prob_playlist: Chance = 10
    base_reward: float = 10
    target: Target | None = None
    """The devices that the job is for; null: all devices."""
    priority: Annotated[int, between(-PRIORITY_MAX, PRIORITY_MAX)] = 0
    """Of the jobs that wait, those with a higher priority go first; of equal ones, the oldest."""
    not_before: Annotated[datetime, Meta(tz=True)] | None = None
    """The job does not start before this time of the wall clock; null: it may start at once."""


def check_spec(spec: JobSpec) -> Rejection | None:
    """Return why no job can have these values, or None if one can."""
    return _lengths(spec) or _texts(spec) or _bounds(spec) or _sums(spec) or _target(spec.target)


def _bounds(spec: JobSpec) -> Rejection | None:
    for name, (low, high) in _BOUNDS.items():
        if refusal := check_range(low, high, **{name: getattr(spec, name)}):
            return refusal
    return None


def _lengths(spec: JobSpec) -> Rejection | None:
    for name, chars_max in _CHARS_MAX.items():
        text = getattr(spec, name)
        if text is not None and len(text) > chars_max:
            return invalid(name, len(text), f"{name} must have at most {chars_max} characters")
    return None


def _marks(kind: str) -> dict[str, Any]:
    """Return, by field of `JobSpec`, the bound that was declared for it. `kind`: which bounds to return, `between`
    (lowest and highest number) or `chars_max`."""
    hints = get_type_hints(JobSpec, include_extras=True)
    found = {name: list(_extras(type_)) for name, type_ in hints.items()}
    return {name: extra[kind] for name, extras in found.items() for extra in extras if kind in extra}


def _extras(type_: Any) -> Iterator[dict[str, Any]]:
    for part in get_args(type_):  # the declaration of an optional field is one level deeper
        if isinstance(part, Meta):
            yield part.extra or {}
        else:
            yield from _extras(part)


_BOUNDS: Final[dict[str, tuple[int, int]]] = _marks("between")
_CHARS_MAX: Final[dict[str, int]] = _marks("chars_max")


def _texts(spec: JobSpec) -> Rejection | None:
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
