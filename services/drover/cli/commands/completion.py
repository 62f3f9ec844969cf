"""`drover completion`: its arguments, options and help. What it does is in `drover.cli.completion`."""

from __future__ import annotations

from typing import Any, Final

import click

from drover.cli.examples import examples

SHELLS: Final = ("bash", "zsh", "fish")


@click.command(
    epilog=examples(
        'eval "$(drover completion bash)"   # in ~/.bashrc',
        'eval "$(drover completion zsh)"    # in ~/.zshrc',
        "drover completion fish > ~/.config/fish/completions/drover.fish",
    )
)
@click.argument("shell", type=click.Choice(SHELLS), metavar="SHELL", help=f"One of {', '.join(SHELLS)}.")
def completion(**options: Any) -> None:
    """Print the script that lets a shell complete commands.

    It completes commands, options and the values of options such as --status.
    """
    from drover.cli.completion import completion as run

    run(**options)
