"""What `--help` says, for every command there is: nothing is cut off, nothing lacks a word, all of it is sentences."""

from __future__ import annotations

import re

import click
import pytest

from drover.cli.group import drover
from tests.unit.cli.tree import walk

COLUMNS = 80
ALL = [pytest.param(path, command, id=" ".join(("drover", *path))) for path, command in walk(drover)]
SENTENCE = re.compile(r"[A-Z][^…]*[A-Za-z0-9`)][.]", re.DOTALL)
CUT = ("...", "…")


def page(path, columns=COLUMNS):
    """The help page as a terminal of that width shows it."""
    context = click.Context(drover, info_name="drover", terminal_width=columns, **drover.context_settings)
    for name in path:
        command = context.command.commands[name]
        context = click.Context(command, parent=context, info_name=name, terminal_width=columns)
    return context.get_help()


def texts_of(command):
    """Each text of a help page with what it is about."""
    yield "the command", command.help
    for param in command.params:
        yield param.name, param.help


@pytest.mark.parametrize(("path", "command"), ALL)
def test_no_help_page_cuts_a_text_off(path, command):
    usage, _, rest = page(path).partition("\n\n")
    assert usage.startswith("Usage: drover")
    assert [line for line in rest.splitlines() if line.rstrip().endswith(CUT)] == []


@pytest.mark.parametrize(("path", "command"), ALL)
def test_no_line_is_wider_than_the_terminal(path, command):
    assert [line for line in page(path).splitlines() if len(line) > COLUMNS] == []


@pytest.mark.parametrize(("path", "command"), ALL)
def test_every_command_option_and_argument_is_explained_in_sentences(path, command):
    assert [
        (about, text) for about, text in texts_of(command) if not text or not SENTENCE.fullmatch(text.strip())
    ] == []


@pytest.mark.parametrize(("path", "command"), [known for known in ALL if known.values[0]])
def test_a_summary_is_the_whole_first_sentence_of_the_help(path, command):
    """What stands in the list of commands is how the page of the command begins."""
    first = " ".join(command.help.partition("\n\n")[0].split()).partition(". ")[0].rstrip(".")
    listed = page(path[:-1]).partition("Commands:")[2]
    assert f"  {path[-1]} " in listed
    assert f"{first}." in " ".join(listed.split())


@pytest.mark.control
def test_a_summary_that_is_too_long_would_be_seen(monkeypatch):
    status = drover.commands["status"]
    monkeypatch.setattr(status, "help", "Show " + "very " * 20 + "much.")
    with pytest.raises(AssertionError):
        test_no_help_page_cuts_a_text_off((), drover)
