"""A position in a text that is being parsed, and methods that read the tokens there. `grammar` combines them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeVar, cast, get_args

from drover.web.errors import ApiError
from drover.web.postgrest.ast import Operator, Path

T = TypeVar("T")

IN_VALUES_MAX: Final = 500
PATH_KEYS_MAX: Final = 8
KEY_CHARS_MAX: Final = 256

OPERATORS: Final = frozenset(get_args(Operator))
IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_BARE_KEY: Final = re.compile(r"-?[A-Za-z0-9_]{1,63}", re.ASCII)


def parse_error(message: str, details: str | None = None) -> ApiError:
    return ApiError(400, "PGRST100", message, details=details)


class Cursor:
    """A position in the text. Its methods read a token and move forward, or raise `error`."""

    def __init__(self, text: str, failure: str) -> None:
        self._text = text
        self._at = 0
        self._failure = failure

    def error(self, details: str) -> ApiError:
        return parse_error(self._failure, details)

    def unexpected(self, expecting: str) -> ApiError:
        found = f'"{self._text[self._at]}"' if self._at < len(self._text) else "end of input"
        return self.error(f"(column {self._at + 1}) unexpected {found}; expecting {expecting}")

    def take(self, word: str) -> bool:
        if self._text.startswith(word, self._at):
            self._at += len(word)
            return True
        return False

    def sees(self, word: str) -> bool:
        return self._text.startswith(word, self._at)

    def expect(self, word: str) -> None:
        if not self.take(word):
            raise self.unexpected(f'"{word}"')

    def spaces(self) -> None:
        while self.take(" "):
            pass

    def end(self) -> None:
        if self._at < len(self._text):
            raise self.unexpected("end of input")

    def rest(self) -> str:
        return self._text[self._at :]

    def identifier(self) -> str:
        match = IDENTIFIER.match(self._text, self._at)
        if match is None:
            raise self.unexpected("a name")
        self._at = match.end()
        return match.group()

    def path(self) -> Path | None:
        """Read a path such as `->a->0->>b`, or nothing."""
        keys: list[str] = []
        while self.take("->"):
            if len(keys) == PATH_KEYS_MAX:
                raise self.error(f"at most {PATH_KEYS_MAX} steps in a JSON path")
            text = self.take(">")
            keys.append(self._key())
            if text:
                if self.sees("->"):
                    raise self.error("->> returns text, so nothing can follow it")
                return Path(tuple(keys), text=True)
        return Path(tuple(keys)) if keys else None

    def _key(self) -> str:
        if self.take('"'):
            key = self._quoted()
            if len(key) > KEY_CHARS_MAX:
                raise self.error(f"a key has at most {KEY_CHARS_MAX} characters")
            return key
        match = _BARE_KEY.match(self._text, self._at)
        if match is None:
            raise self.unexpected("a key or an index")
        self._at = match.end()
        return match.group()

    def operator(self) -> Operator:
        dot = self._text.find(".", self._at)
        word = self._text[self._at : dot] if dot >= 0 else ""
        if word not in OPERATORS:
            raise self.unexpected(f'"not" or an operator ({", ".join(sorted(OPERATORS))}) and "."')
        self._at = dot + 1
        return cast(Operator, word)

    def value(self) -> str:
        """Read a value inside a list or a logic tree: quoted, or up to the next comma or parenthesis."""
        if self.take('"'):
            return self._quoted()
        start = self._at
        if self._text.startswith("{", start):  # an array literal: its commas do not separate values
            close = self._text.find("}", start)
            self._at = close + 1 if close >= 0 else len(self._text)
            return self._text[start : self._at]
        while self._at < len(self._text) and self._text[self._at] not in ",)":
            self._at += 1
        return self._text[start : self._at]

    def _quoted(self) -> str:
        chars: list[str] = []
        while self._at < len(self._text):
            char = self._text[self._at]
            self._at += 1
            if char == '"':
                return "".join(chars)
            if char == "\\" and self._at < len(self._text):
                char = self._text[self._at]
                self._at += 1
            chars.append(char)
        raise self.unexpected('"\\""')

    def list_of_values(self) -> tuple[str, ...]:
        self.expect("(")
        if self.take(")"):
            return ()
        values = self.separated(self.value, IN_VALUES_MAX, "values")
        self.expect(")")
        return values

    def separated(self, read: Callable[[], T], items_max: int, noun: str) -> tuple[T, ...]:
        """Read one or more items with commas between them."""
        items: list[T] = []
        while True:
            items.append(read())
            if len(items) > items_max:
                raise self.error(f"at most {items_max} {noun}")
            if not self.take(","):
                return tuple(items)
