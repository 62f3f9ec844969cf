"""Makes job documents for nexrender, in its own form and in that of document 003 (the render queue), §3.4. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from drover.domain.errors import DroverError
from drover.domain.render.mapping_spec import OUTPUT_MODULE_DEFAULT
from drover.render.nexrender.paths import file_url, refuse_relative, suffix_of

OUTPUT_EXTENSION: Final = "mp4"
RESULT: Final = f"result.{OUTPUT_EXTENSION}"
"""nexrender's own name of the rendered file, in its working folder, which it deletes afterwards."""
COPY: Final = "@nexrender/action-copy"
OUR_TAG: Final = "drover"
UID_TAG_DIGITS: Final = 20

_UID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_ROUTES: Final = frozenset({"pickup", "status"})
"""Words that `GET /jobs/…` does not treat as a uid. `pickup` would take a job from nexrender's workers."""
_NO_TAG: Final = re.compile(r"[^A-Za-z0-9]")

Document = dict[str, Any]


class UidUnusable(DroverError):
    """A text that cannot be a job's uid: nexrender uses uids as names of folders and in URLs."""

    def __init__(self, uid: str) -> None:
        self.uid = uid
        super().__init__(f"{uid!r} cannot be a job's uid: letters, digits, - and _, at most 128, not pickup or status")


def job_document(
    *,
    uid: str,
    render_id: int,
    template: str,
    composition: str,
    assets: Sequence[Mapping[str, Any]],
    output: str,
    output_module: str = OUTPUT_MODULE_DEFAULT,
    tags: Iterable[str] = (),
) -> Document:
    """Make the job for real nexrender. Paths are as nexrender's machines see them; assets may have paths or URLs.

    The result is written to `output` (RN-07: `…/job_<render_id>.mp4`). A removed job may still write its file later, so
    give each uid a folder of its own.

    `output` is the path in the copy action, on purpose, and not the job's own field `output`: nexrender would render to
    the path in that field itself. The copy would then not find its `result.mp4`, or would empty the file by copying it
    onto itself.
    """
    if not _UID.fullmatch(uid) or uid in _ROUTES:
        raise UidUnusable(uid)
    refuse_relative(output)
    copy = {"module": COPY, "input": RESULT, "output": output}
    return {
        "uid": uid,
        "tags": ",".join(dict.fromkeys(filter(None, [OUR_TAG, f"render{render_id}", uid_tag(uid), *map(_tag, tags)]))),
        "template": {
            **_file(template, "template"),
            "composition": composition,
            "outputModule": output_module,
            "outputExt": OUTPUT_EXTENSION,
        },
        "assets": [_asset(asset, number) for number, asset in enumerate(assets, 1)],
        "actions": {"predownload": [], "postdownload": [], "prerender": [], "postrender": [copy]},
    }


def uid_tag(uid: str) -> str:
    """Make a tag from a uid: its hash, because newer servers remove everything but letters and digits from tags."""
    return "uid" + sha256(uid.encode()).hexdigest()[:UID_TAG_DIGITS]


def _tag(text: str) -> str:
    return _NO_TAG.sub("", text)


def output_of(document: Mapping[str, Any]) -> str | None:
    """Return the path of a job's result, as nexrender's machines see it. None if the document has none."""
    actions = document.get("actions")
    if isinstance(actions, Mapping):
        for action in actions.get("postrender") or ():
            if action.get("module") == COPY:
                return str(action["output"])
        return None
    output = document.get("output")
    return str(output) if output else None


def simplified(document: Mapping[str, Any]) -> Document:
    """Convert a job of `job_document` to the form of document 003 (the render queue), §3.4: `actions` is a list with
    the expressions; `output` is the path of the result."""
    assets = [asset for asset in document["assets"] if "expression" not in asset]
    return {
        **{name: value for name, value in document.items() if name not in ("assets", "actions")},
        "assets": assets,
        "actions": [_expression(asset) for asset in document["assets"] if "expression" in asset],
        "output": output_of(document),
    }


def _expression(asset: Mapping[str, Any]) -> Document:
    params = {"layerName": asset.get("layerName"), "property": asset.get("property"), "value": asset["expression"]}
    return {"type": "expression", "params": params}


def _asset(asset: Mapping[str, Any], number: int) -> Document:
    return {**asset, **_file(str(asset["src"]), f"asset-{number}")} if "src" in asset else {**asset}


def _file(path: str, name: str) -> Document:
    """Describe a file that nexrender fetches, with a name for nexrender's copy of it. Without a name, nexrender 1.63
    uses the whole path as the name, and cannot make the copy because its folder does not exist."""
    return {"src": file_url(path), "name": name + suffix_of(path)}
