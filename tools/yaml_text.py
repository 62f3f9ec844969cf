"""Writes JSON values as plain YAML, in a form in which a small change gives a small diff."""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

_BOOLEANS: Final = frozenset({"y", "n"})
"""Words that are booleans in YAML 1.1, and so must be quoted. PyYAML reads them as text, but other parsers do not."""
_TEXT: Final = "tag:yaml.org,2002:str"
_PLAIN: Final = re.compile(r"[A-Za-z/$][A-Za-z0-9_./{}$-]*")


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Indents lists, writes no aliases, and quotes as JSON does."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_text(self, text: str) -> yaml.Node:
        is_plain = _PLAIN.fullmatch(text) and text.lower() not in _BOOLEANS
        is_text = self.resolve(yaml.ScalarNode, text, (True, False)) == _TEXT
        return self.represent_scalar(_TEXT, text, style=None if is_plain and is_text else '"')


_Dumper.add_representer(str, _Dumper.represent_text)
_Dumper.add_multi_representer(str, lambda dumper, text: dumper.represent_text(str(text)))
_Dumper.add_multi_representer(tuple, lambda dumper, values: dumper.represent_list(values))


def to_yaml(value: Any) -> str:
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=float("inf"))
    return text
