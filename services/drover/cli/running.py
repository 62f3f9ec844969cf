"""Runs the coroutine of a command, and returns its exit code. `exits` maps errors to codes."""

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
"""The log level of commands. Commands print their own output, so only problems are logged."""

P = ParamSpec("P")


def asynchronous(
    command: Callable[P, Coroutine[Any, Any, Exit]], *, on_interrupt: Exit | None = None
) -> Callable[P, None]:
    """Turn a coroutine function into a function that click can call. `on_interrupt`: the exit code after Ctrl-C."""

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
            # The reader of our output is gone. Without this, Python would raise again when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = Exit.OK
        click.get_current_context().exit(code)

    return call
