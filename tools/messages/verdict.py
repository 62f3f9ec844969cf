"""Decides whether the code's schemas may be published. Each problem says what is wrong and what to do instead."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

import msgspec

from drover.domain.decider import Decider
from drover.eventlog.codec import Codec, UnreadableCommit
from tools.messages.compatibility import Break, breaks
from tools.messages.published import Name, Samples, Schemas

_ADVICE: Final = "contracts/README.md shows how, with an example."


class Verdict(msgspec.Struct, frozen=True):
    problems: tuple[str, ...]
    successors: dict[Name, str]
    """For each event type that the code no longer emits: the type that its upcaster (converter of old events)
    returns."""


def verdict_on(deciders: Collection[Decider[Any]], current: Schemas, published: Schemas, samples: Samples) -> Verdict:
    problems = list(_changed(current, published))
    successors: dict[Name, str] = {}
    by_context = {decider.context: decider for decider in deciders}
    for name in sorted(published.keys() - current.keys()):
        decider = by_context.get(name.context)
        if name.sort == "commands":
            problems.append(_command_gone(name))
        elif decider is None or name.type not in decider.upcasters:
            problems.append(_event_gone(name))
        elif problem := _why_not_read(decider, name, samples):
            problems.append(problem)
        else:
            successors[name] = _successor(decider, name, samples)
    for decider in deciders:
        problems += _still_there(decider, current)
    return Verdict(tuple(problems), successors)


def _changed(current: Schemas, published: Schemas) -> Iterator[str]:
    for name in sorted(published.keys() & current.keys()):
        found = breaks(published[name], current[name], defaults_matter=name.sort == "events")
        if found:
            yield (_event_changed if name.sort == "events" else _command_changed)(name, found)


def _event_changed(name: Name, found: list[Break]) -> str:
    return (
        f"{name.context}: the event {name.type} can no longer be read as it is in the log: {_told(found)}. "
        f"Add fields with a default only. For anything else leave {name.type} behind: give the new shape a name of its "
        f"own ({_next(name.type)}, for example), put it into the union of events in the place of {name.type}, and add "
        f'an upcaster to the decider, `upcasters={{"{name.type}": ...}}`, which turns the fields of the old one into '
        f"those of the new one and sets `type`. {_ADVICE}"
    )


def _command_changed(name: Name, found: list[Break]) -> str:
    return (
        f"{name.context}: the command {name.type} refuses what callers send today: {_told(found)}. Give a new field a "
        f"default and keep the old ones; for another meaning add another command beside it. {_ADVICE}"
    )


def _event_gone(name: Name) -> str:
    return (
        f"{name.context}: the event {name.type} was published and is gone, or has another tag now, so that no reader "
        f"can pass it in the log. Put it back; or, if another event takes its place, add an upcaster to the decider: "
        f'`upcasters={{"{name.type}": ...}}`, which gives the fields of its successor and sets `type`. {_ADVICE}'
    )


def _command_gone(name: Name) -> str:
    return (
        f"{name.context}: the command {name.type} was published and is gone: callers of the previous release would be "
        f"refused. Put it back. Once no supported release sends it any more, remove contracts/{name.file} by hand, and "
        f"say so in CHANGELOG.md."
    )


def _why_not_read(decider: Decider[Any], name: Name, samples: Samples) -> str | None:
    """Say why a retired event cannot be read. None: its upcaster converts every golden sample (example) of it to a
    current type."""
    kept = samples.get((name.context, name.type), ())
    if not kept:
        return (
            f"{name.context}: {name.type} has an upcaster, but no golden sample to show that it works. Put one back: "
            f"contracts/samples/{name.context}/{name.type}.1.json. {_ADVICE}"
        )
    for sample in kept:
        try:
            Codec.of(decider).decode(_line(sample))
        except (UnreadableCommit, LookupError, TypeError, ValueError) as error:
            return (
                f"{name.context}: the upcaster of {name.type} does not return a current event "
                f"({type(error).__name__}: {error}). It must give all fields of its successor, and set `type`. "
                f"{_ADVICE}"
            )
    return None


def _still_there(decider: Decider[Any], current: Schemas) -> Iterator[str]:
    for type_ in sorted(decider.upcasters):
        if Name(decider.context, "events", type_) in current:
            yield (
                f"{decider.context}: {type_} has an upcaster and is still a current event, so it is not clear "
                f"which of the two reads it. Take it out of the union of events, or remove its upcaster. {_ADVICE}"
            )


def _successor(decider: Decider[Any], name: Name, samples: Samples) -> str:
    fields = msgspec.json.decode(samples[name.context, name.type][0], type=dict[str, Any])
    return str(decider.upcasters[name.type](fields)["type"])


def _line(sample: bytes) -> bytes:
    return msgspec.json.format(sample, indent=-1) + b"\n"


def _told(found: list[Break]) -> str:
    return "; ".join(f"`{one.path}` {one.said}" if one.path else f"it {one.said}" for one in found)


def _next(type_: str) -> str:
    """Return the name of the next version of a type: JobCreated, JobCreatedV2, JobCreatedV3."""
    name, found, number = type_.rpartition("V")
    return f"{name}V{int(number) + 1}" if found and number.isdigit() else f"{type_}V2"
