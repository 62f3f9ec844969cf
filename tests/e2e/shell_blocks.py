"""The blocks of shell commands in a page of Markdown: where they stand, how they are to be run, what they promise."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import msgspec

SHELLS: Final = ("sh", "bash", "shell", "console")
NOT_RUN: Final = "not run: "
UNTIL_CTRL_C: Final = "until Ctrl-C"
"""Comments directly before a block that say how it is run. Readers of the page do not see them."""

_FENCE: Final = re.compile(
    r"^(?: *<!-- (?P<mark>[^\n]*) -->\n)?(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
_COMMAND: Final = re.compile(
    r"^\$? *(?:export |drover |\.venv/bin/|curl |make |docker |kubectl |helm |pip )", re.MULTILINE
)
_PROMISED_STATUS: Final = re.compile(r"#.*?: (\d{3})\b")
_PROMISED_JSON: Final = re.compile(r"^# (\{.*\})$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One block, as it is printed."""

    page: str
    line: int
    language: str
    text: str
    mark: str | None
    """The comment directly before it, if there is one."""
    output: str | None
    """What stands in a block of JSON directly after it: what it is said to print."""

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_shell(self) -> bool:
        return self.language in SHELLS

    @property
    def has_commands(self) -> bool:
        return _COMMAND.search(self.text) is not None

    @property
    def not_run_because(self) -> str | None:
        return self.mark.removeprefix(NOT_RUN) if self.mark is not None and self.mark.startswith(NOT_RUN) else None

    @property
    def runs_until_ctrl_c(self) -> bool:
        return self.mark == UNTIL_CTRL_C

    @property
    def promised_statuses(self) -> list[str]:
        """`# A heartbeat: 204; 404 for …` promises a 204."""
        return _PROMISED_STATUS.findall(self.text)

    @property
    def promised_json(self) -> list[dict[str, Any]]:
        shown = _PROMISED_JSON.findall(self.text) + ([self.output] if self.output is not None else [])
        return [msgspec.json.decode(one) for one in shown]

    @property
    def commands(self) -> str:
        """Without comments, which are in the language of the page."""
        return re.sub(r"[ \t]*(?:^|(?<=\s))#.*$", "", self.text, flags=re.MULTILINE)


def blocks_of(path: Path) -> list[Block]:
    """Every fenced block of the page, in order."""
    return list(_read(path.name, path.read_text()))


def _read(page: str, text: str) -> Iterator[Block]:
    found = list(_FENCE.finditer(text))
    for match, following in pairwise([*found, None]):
        assert match is not None
        is_output = (
            following is not None
            and following["language"] == "json"
            and not text[match.end() : following.start()].strip()
        )
        yield Block(
            page=page,
            line=text.count("\n", 0, match.start("text")),
            language=match["language"],
            text=re.sub(f"^{match['indent']}", "", match["text"], flags=re.MULTILINE),
            mark=match["mark"],
            output=following["text"] if is_output and following is not None else None,
        )
