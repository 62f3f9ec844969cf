"""Asks before a command destroys work. Scripts answer with `--yes`."""

from __future__ import annotations

import sys

import click

from drover.cli.output import printable


def check_answerable(*, yes: bool) -> None:
    """Raise a usage error if somebody must be asked, but nobody can answer. Call it before anything is read."""
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("This destroys work, and nobody can be asked here: add --yes to do it.")


def confirm(question: str, *, yes: bool) -> None:
    if not yes and not click.confirm(printable(question), err=True):
        click.echo("Nothing was changed.", err=True)
        raise click.Abort
