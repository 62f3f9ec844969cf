"""Lists the target devices of a job, and describes the target in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from drover.domain.fleet.index import is_target
from drover.domain.fleet.state import Device, Fleet, Job
from drover.domain.fleet.why.formatting import count


def candidates(fleet: Fleet, job: Job) -> Iterator[Device]:
    """List the target devices of a job: the named ones first. The others are searched among the devices of the target
    PC, else of the target group, else among all."""
    for device_id in job.named:
        yield fleet.devices[device_id]
    for device_id in _narrowest(fleet, job):
        device = fleet.devices[device_id]
        if device_id not in job.named and is_target(job, device):
            yield device


def _narrowest(fleet: Fleet, job: Job) -> Iterable[str]:
    target = job.spec.target
    if target is not None:
        if target.device_ids is not None:
            return ()  # the devices of such a target are all in `named`
        if target.pc_id is not None:
            return fleet.pcs[target.pc_id].devices if target.pc_id in fleet.pcs else ()
        if target.group_id is not None:
            return fleet.groups.get(target.group_id, ())
    return fleet.devices


def target_words(job: Job) -> str:
    return _words(job) or "all devices"


def of_target(job: Job) -> str:
    """Describe the target in a sentence such as "No device of …"; empty if the target is all devices."""
    words = _words(job)
    return f" of {words}" if words else ""


def _words(job: Job) -> str:
    target = job.spec.target
    if target is None:
        return ""
    words = []
    if target.group_id is not None:
        words.append(f"group {target.group_id}")
    if target.pc_id is not None:
        words.append(f"PC {target.pc_id}")
    if target.device_ids is not None:
        named = f"the {count(len(job.named), 'selected device')}"
        words.append(named if job.named else "devices not selected yet")
    return " and ".join(words)


def target_data(job: Job) -> dict[str, Any] | None:
    """Describe the target for programs. Of named devices only the number is given: there may be a thousand."""
    target = job.spec.target
    if target is None:
        return None
    data = msgspec.to_builtins(target)
    return data if target.device_ids is None else {**data, "device_ids": len(job.named)}
