"""Every command of `drover`, for tests that hold for all of them."""

from __future__ import annotations

import click


def walk(command, path=()):
    """Each command with the words that lead to it, groups included."""
    yield path, command
    if isinstance(command, click.Group):
        for name, child in sorted(command.commands.items()):
            yield from walk(child, (*path, name))
