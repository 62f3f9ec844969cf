"""Generates the reference of the settings, from the declarations of the services."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec.structs import FieldInfo

from drover.platform.registry import REGISTRY
from drover.platform.settings import SECTIONS
from drover.readmodel.docstrings import field_texts
from drover.service.config import Section, Settings, fields_of, is_secret, meta_of
from drover.service.other_names import SETTINGS as OTHER_NAMES
from tools.docs.markdown import anchor_of, block, code, head, heading, prose

_INTRODUCTION: Final = """\
Drover reads its settings from the environment. `drover config` prints all of them with their values and sources. An
unknown name that begins with `DROVER_`, or a value that is not understood, stops the start with a sentence that says
what to write instead. An empty value counts as not set. To read a setting from a file, for example a secret, set
its name with `_FILE` to the path of the file: `DROVER_SEALING_KEYS_FILE=/run/secrets/sealing_keys`.
"""


def settings_markdown() -> str:
    lines = [*head("Settings", "the settings that the services declare"), _INTRODUCTION]
    for section in SECTIONS:
        lines += [f"## {_title(section)}", "", prose((section.__doc__ or "").partition("\n\n")[0]), ""]
        texts = field_texts(section)
        for name, field in fields_of(section).items():
            lines += _setting(name, field, texts.get(field.name, ""))
    return "\n".join(lines)


def _title(section: type[Section]) -> str:
    if section is Settings:
        return "Every process"
    services = [name for name, service in REGISTRY.items() if section in service.settings]
    return f"{section.__name__.removesuffix('Settings')}: {', '.join(services)}"


def _setting(name: str, field: FieldInfo, text: str) -> list[str]:
    meta = meta_of(field)
    other_names = [code(theirs) for theirs, ours in OTHER_NAMES.items() if ours == name]
    facts = [f"Takes {prose(str(meta.description))}. {_default(field)}"]
    if is_secret(name):
        facts.append("It is a secret: `drover config` hides it.")
    if other_names:
        facts.append(f"If it is not set, Drover reads {' and '.join(other_names)}.")
    return [
        *heading(3, code(name), anchor_of(name)),
        prose(text),
        "",
        " ".join(facts),
        "",
        *block(f"{name}={(meta.examples or [''])[0]}", "ini"),
    ]


def _default(field: FieldInfo) -> str:
    if field.required:
        return "Required."
    if field.default_factory is not msgspec.NODEFAULT:
        return "The default is made at the start."
    return "Not set by default." if field.default in (None, (), "") else f"Default: {code(_text(field.default))}."


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
