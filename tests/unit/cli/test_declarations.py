"""Commands are declared in one module and done in another; what one passes is what the other takes."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module

import pytest

from drover.cli.events_options import FILTERS
from drover.cli.group import drover
from drover.cli.server_options import SERVER
from drover.domain.contexts import CONTEXTS
from drover.projector.app import PROJECTIONS
from tests.unit.cli.tree import walk

RUNNING = [(path, command) for path, command in walk(drover) if not hasattr(command, "commands")]


def work_of(command):
    """The function that the command imports when it runs."""
    callback = inspect.unwrap(command.callback)
    (imported,) = [
        node for node in ast.walk(ast.parse(inspect.getsource(callback))) if isinstance(node, ast.ImportFrom)
    ]
    return getattr(import_module(imported.module), imported.names[0].name)


@pytest.mark.parametrize(
    ("path", "command"), RUNNING, ids=lambda value: " ".join(value) if type(value) is tuple else ""
)
def test_a_command_passes_what_its_work_takes(path, command):
    passed = {param.name for param in command.params}
    if passed >= set(FILTERS):
        passed = passed - set(FILTERS) | {"wanted"}
    if passed >= set(SERVER) - {"key"}:  # some commands need no key
        passed = passed - set(SERVER) | {"server"}
    assert passed == set(inspect.signature(work_of(command)).parameters)


def test_there_is_a_read_model_for_every_name_that_verify_and_rebuild_take():
    assert [projection.name for projection in PROJECTIONS] == list(CONTEXTS)
