"""Runs the coroutine of a command to its exit code. Which errors mean what is in `exits`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Final, ParamSpec

import click

from drover.cli.exits import Exit
from drover.service import logging

LOG_LEVEL: Final = "warning"
"""What a command says itself is its output; of the libraries only trouble is worth a line."""

P = ParamSpec("P")


def asynchronous(
    command: Callable[P, Coroutine[Any, Any, Exit]], *, on_interrupt: Exit | None = None
) -> Callable[P, None]:
    """Make a click callback of a coroutine function. `on_interrupt`: the code of a command that Ctrl-C ends well."""

    @wraps(command)
    def call(*args: P.args, **kwargs: P.kwargs) -> None:
        logging.configure("console", LOG_LEVEL)
        try:
            code = asyncio.run(command(*args, **kwargs))
        except KeyboardInterrupt:
            if on_interrupt is None:
                raise
            code = on_interrupt
        except BrokenPipeError:
            # Whoever read our output has gone. Python would complain once more when it flushes at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = Exit.OK
        click.get_current_context().exit(code)

    return call
