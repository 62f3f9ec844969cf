"""What a person reads when a command fails: a sentence that says what to do, and neither a class nor a repr."""

import ast
import errno
import importlib
from pathlib import Path

import click
import pytest

from drover.cli import exits, group
from drover.cli.errors import AccountRefused, NoPlatform
from drover.cli.exits import Exit, exit_code_of
from drover.cli.up import ForeignSettings
from drover.domain.errors import DroverError
from drover.embedded.errors import DataDirectoryBusy
from drover.eventlog.log import AppendConflict
from drover.notifier.receivers.choice import ReceiverIncomplete
from drover.reminder.app import UnknownTimezone
from drover.reminder.providers.apprise import AppriseAddressBad
from drover.reminder.providers.choice import ProviderIncomplete
from drover.reminder.providers.missing import ExtraMissing
from drover.render.app import RenderSettingsMissing
from drover.render.nas.opening import NasAddressInvalid
from drover.service.error_reports import SentryMissing
from drover.service.sealing import SealingKeysUnusable
from drover.service.spans import OpenTelemetryMissing
from drover.web.serve import cannot_listen

SOURCES = sorted(path for root in ("libs", "services") for path in Path(root).rglob("drover/**/*.py"))


def shown(error, monkeypatch, capsys):
    """Exit code and what stands on standard error."""

    def fail(**options):
        raise error

    monkeypatch.setattr(group.drover, "main", fail)
    code = group.run()
    return code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NoPlatform(Path(".drover")), Exit.UNREACHABLE),
        (DataDirectoryBusy(Path(".drover"), 7), Exit.BUSY),
        (AccountRefused("CONFLICT", "The last admin cannot be disabled"), Exit.FAILED),
    ],
)
def test_an_error_is_a_sentence_without_its_class(error, code, monkeypatch, capsys):
    found, said = shown(error, monkeypatch, capsys)
    assert found == code
    assert said == f"Error: {error}\n"
    assert type(error).__name__ not in said


def test_an_error_without_words_of_its_own_says_what_its_class_means(monkeypatch, capsys):
    _, said = shown(AppendConflict(), monkeypatch, capsys)
    assert said.startswith("Error: Somebody else wrote to this partition")


def test_a_sentence_ends_with_a_full_stop(monkeypatch, capsys):
    assert shown(DroverError("Unset it"), monkeypatch, capsys)[1] == "Error: Unset it.\n"
    assert shown(DroverError("Is it running?"), monkeypatch, capsys)[1] == "Error: Is it running?\n"


def test_a_usage_error_looks_the_same(monkeypatch, capsys):
    code, said = shown(click.UsageError("Name one with --data-dir."), monkeypatch, capsys)
    assert (code, said) == (Exit.USAGE, "Error: Name one with --data-dir.\n")


def test_a_port_without_rights_says_that_it_needs_them_and_what_to_write():
    error = cannot_listen("127.0.0.1", 80, PermissionError(errno.EACCES, "Permission denied"))
    assert "below 1024" in str(error)
    assert "drover up --port 8080" in str(error)
    assert "DROVER_HTTP_PORT" in str(error)
    assert "taken" not in str(error)
    assert exit_code_of(error) is Exit.CONFIGURATION


def test_a_taken_port_is_said_to_be_taken():
    error = cannot_listen("127.0.0.1", 8080, OSError(errno.EADDRINUSE, "Address already in use"))
    assert "is taken by another process" in str(error)
    assert exit_code_of(error) is Exit.BUSY


def test_an_address_of_another_machine_is_named_with_its_setting():
    error = cannot_listen("192.0.2.1", 8080, OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address"))
    assert "192.0.2.1" in str(error)
    assert "DROVER_HTTP_HOST" in str(error)
    assert exit_code_of(error) is Exit.CONFIGURATION


def test_every_error_with_an_exit_code_exists():
    for name in exits.CODES:
        module, _, kind = name.rpartition(".")
        assert issubclass(getattr(importlib.import_module(module), kind), DroverError), name


@pytest.mark.parametrize(
    "error",
    [
        AppriseAddressBad(1),
        ExtraMissing("pywebpush", "webpush"),
        ForeignSettings(["DROVER_NATS_URL"]),
        NasAddressInvalid("nas", "neither an absolute path nor smb://"),
        OpenTelemetryMissing(),
        ProviderIncomplete("webhook", "DROVER_REMINDER_WEBHOOK_URL"),
        ReceiverIncomplete(),
        RenderSettingsMissing(["DROVER_RENDER_NAS"]),
        SealingKeysUnusable("it is empty"),
        SentryMissing(),
        UnknownTimezone("Mars/Olympus"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_setting_to_correct_ends_with_the_code_for_settings_and_is_named(error):
    assert exit_code_of(error) is Exit.CONFIGURATION
    assert "DROVER_" in str(error)


def test_no_sentence_is_made_of_the_repr_or_the_class_of_another_error():
    found = [f"{path}:{line}" for path in SOURCES for line in _reprs_of_errors(path)]
    assert found == []


def _reprs_of_errors(path):
    """Lines of `raise` statements that show a caught exception otherwise than by its words."""
    for handler in ast.walk(ast.parse(path.read_text())):
        if isinstance(handler, ast.ExceptHandler) and handler.name:
            for statement in ast.walk(handler):
                if isinstance(statement, ast.Raise) and statement.exc is not None:
                    yield from (node.lineno for node in ast.walk(statement.exc) if _shows(node, handler.name))


def _shows(node, name):
    if isinstance(node, ast.FormattedValue):
        return node.conversion == ord("r") and ast.unparse(node.value) == name
    if isinstance(node, ast.Call):
        return ast.unparse(node) in (f"repr({name})", f"type({name})")
    return False
