"""`drover completion`: prints the completion script of a shell. The shell then asks `drover` itself for completions."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import get_completion_class

COMPLETE_VARIABLE: Final = "_DROVER_COMPLETE"
"""The variable by which click recognises a question of a shell: by the name of the program."""


def completion(shell: str) -> None:
    kind = get_completion_class(shell)
    assert kind is not None, shell
    root = click.get_current_context().find_root().command
    # `source_vars` and the template, not `source`: that would start a bash to ask for its version.
    script = kind(root, {}, "drover", COMPLETE_VARIABLE)
    click.echo(script.source_template % script.source_vars())
