"""What `--help` says, for every command there is: nothing is cut off, nothing lacks a word, all of it is sentences."""

from __future__ import annotations

import re
import shlex
from itertools import takewhile

import click
import pytest

from drover.cli.examples import HEADING
from drover.cli.group import drover
from tests.unit.cli.tree import walk

COLUMNS = 78
"""Of a terminal with 80: click leaves two columns free."""
ALL = [pytest.param(path, command, id=" ".join(("drover", *path))) for path, command in walk(drover)]
SENTENCE = re.compile(r"[A-Z][^…]*[A-Za-z0-9`)][.]", re.DOTALL)
CUT = ("...", "…")
INNER = re.compile(r'^(?:eval "|(?:export )?\w+=)\$\(([^)]*)\)"?')
"""An example within another command: `JOB=$(drover …)`."""


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


def examples_of(command):
    """The command lines at the end of a help page."""
    return [line.strip() for line in (command.epilog or "").partition(HEADING)[2].splitlines() if line.strip()]


def parsed(example):
    """Follow an example through the commands as click does, without running it. The words of a shell that are not
    ours are left out."""
    words = [word for word in shlex.split(INNER.sub(r"\1", example), comments=True) if word not in ("eval", "")]
    assert words[0] == "drover", example
    plain = list(takewhile(lambda word: word not in (">", "<"), words[1:]))
    context = drover.make_context("drover", plain)
    while isinstance(context.command, click.Group):
        name, command, rest = context.command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, list(rest), parent=context)
    return context


@pytest.mark.parametrize(("path", "command"), ALL)
def test_every_command_has_examples_that_it_understands(path, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("fleet.jsonl", "keys.txt", "keys.json", "score.json"):
        (tmp_path / name).touch()
    (tmp_path / "keys").mkdir()
    found = examples_of(command)
    assert found
    for example in found:
        context = parsed(example)
        assert tuple(context.command_path.split()[1 : len(path) + 1]) == path or path == ("key", "issue"), example


@pytest.mark.control
@pytest.mark.parametrize("example", ["drover jobs list --stauts open", "drover jobs nothing", "drover why"])
def test_an_example_that_is_wrong_would_be_seen(example):
    with pytest.raises(click.UsageError):
        parsed(example)


@pytest.mark.control
def test_a_summary_that_is_too_long_would_be_seen(monkeypatch):
    status = drover.commands["status"]
    monkeypatch.setattr(status, "help", "Show " + "very " * 20 + "much.")
    with pytest.raises(AssertionError):
        test_no_help_page_cuts_a_text_off((), drover)
