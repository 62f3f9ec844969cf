"""Validates jobs as the real server does: the rules and messages of `@nexrender/types`, in the same order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

_FILES: Final = frozenset({"image", "audio", "video"})
_SOURCES: Final = frozenset({"script", "static"})


def complete(given: dict[str, Any], uid: str) -> dict[str, Any]:
    """Add defaults for missing fields to a job. A given field replaces its default entirely: nothing is merged."""
    return {
        "type": "default",
        "output": "",
        "tags": "",
        "priority": 0,
        "timings": {},
        "template": {"src": "", "composition": ""},
        "assets": [],
        "actions": {"prerender": [], "postrender": []},
        **given,
        "uid": given.get("uid") or uid,
    }


def complaint(job: dict[str, Any]) -> str | None:
    """Validate a job. Returns the stack trace with which the real server refuses it; None if it is valid."""
    message = next(_complaints(job), None)
    return None if message is None else f"AssertionError [ERR_ASSERTION]: {message}{_STACK}"


_STACK: Final = (
    "\n    at validate (/srv/node_modules/@nexrender/types/job.js:55:5)"
    "\n    at module.exports (/srv/node_modules/@nexrender/server/src/routes/jobs-create.js:16:16)"
    "\n    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)"
)


def _said(thing: Any, name: str) -> bool:
    """Whether the value is truthy in JavaScript: `{}` and `[]` are, an empty text is not."""
    value = thing.get(name) if isinstance(thing, dict) else None
    return value is not None and value is not False and value != "" and value != 0


def _complaints(job: dict[str, Any]) -> Iterator[str]:
    for name in ("uid", "state"):
        if not _said(job, name):
            yield f"job must have {name}"
    if not _said(job, "template"):
        yield "job must have template object defined"
    for name in ("src", "composition"):
        if not _said(job["template"], name):
            yield f"job must have template.{name} defined"
    assets = job.get("assets")
    if not isinstance(assets, list):
        yield "job.assets.map is not a function"
        return
    for asset in assets:
        yield from _asset_complaints(asset)
    if not _said(job, "actions"):
        yield "The expression evaluated to a falsy value:\n\n  assert(job.actions)\n"
    actions = job["actions"] if isinstance(job["actions"], dict) else {}
    for when in ("prerender", "postrender"):
        for action in actions.get(when) or ():
            if not _said(action, "module"):
                yield "job action must have module defined"


def _asset_complaints(asset: Any) -> Iterator[str]:
    if not asset and not isinstance(asset, dict):
        yield "job asset should not be empty"
    if not _said(asset, "type"):
        yield "job asset must have type defined"
        return
    kind = str(asset["type"])
    if kind in _FILES | _SOURCES and not _said(asset, "src"):
        yield f"job asset[{kind}] must have src defined"
    if kind in _SOURCES:
        return
    if kind not in _FILES and kind != "data":
        yield f"unknown job asset type: {kind}"
    if not _said(asset, "layerName") and not _said(asset, "layerIndex"):
        yield f"job asset[{kind}{'/video' if kind in _FILES else ''}] must have either layerName or layerIndex defined"
    if kind == "data":
        if "value" not in asset and not _said(asset, "expression"):
            yield "job asset[data] must have value and/or expression defined"
        if not _said(asset, "property"):
            yield "job asset[data] must have property defined"
