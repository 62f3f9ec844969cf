"""What the Python programs say: one line for each step, `ok <section> <what>` or `FAIL <section> <what>: <why>`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from postgrest.exceptions import APIError

T = TypeVar("T")


@contextmanager
def step(section: str, what: str) -> Iterator[None]:
    """A failed step does not end the program: the next ones are tried, too."""
    try:
        yield
    except Exception as error:
        print(f"FAIL {section} {what}: {_why(error)}", flush=True)
    else:
        print(f"ok {section} {what}", flush=True)


def expect(found: Any, wanted: Any) -> None:
    assert found == wanted, f"{found!r} instead of {wanted!r}"


def until(look: Callable[[], T], within_s: float = 60.0, every_s: float = 0.3) -> T:
    """Poll, as agents and dashboards do; the first answer that is not empty."""
    deadline = time.monotonic() + within_s
    while not (found := look()):
        assert time.monotonic() < deadline, f"not within {within_s:g} s"
        time.sleep(every_s)
    return found


def _why(error: Exception) -> str:
    match error:
        case NameError():
            return f"needs an earlier step ({error.name})"
        case APIError():
            return f"{error.code} {error.message}"
    return " ".join(f"{type(error).__name__} {error}".split()).removeprefix("AssertionError ")
