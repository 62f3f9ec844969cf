"""What a person reads when a command fails: a sentence that says what to do, and neither a class nor a repr."""

import ast
import errno
import importlib
import os
import sys
from io import StringIO
from pathlib import Path

import click
import pytest

from drover.cli import exits, group
from drover.cli.errors import AccountRefused, NoPlatform, key_refused
from drover.cli.exits import Exit, exit_code_of
from drover.cli.up import FarmLockedOut, ForeignSettings
from drover.domain.errors import DroverError
from drover.embedded.errors import DataDirectoryBusy
from drover.eventlog.log import AppendConflict
from drover.nas.opening import NasAddressInvalid
from drover.notifier.receivers.choice import ReceiverIncomplete
from drover.reminder.app import UnknownTimezone
from drover.reminder.providers.apprise import AppriseAddressBad
from drover.reminder.providers.choice import ProviderIncomplete
from drover.reminder.providers.missing import ExtraMissing
from drover.render.app import RenderSettingsMissing
from drover.service.config import REQUIRED
from drover.service.error_reports import SentryMissing
from drover.service.sealing import SealingKeysUnusable
from drover.service.spans import OpenTelemetryMissing
from drover.web.serve import cannot_listen
from tests.settings import load
from tests.sources import parse

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
        (key_refused("CONFLICT", "The key was rotated already"), Exit.FAILED),
        (key_refused("NOT_FOUND", "API key not found"), Exit.NOT_FOUND),
    ],
)
def test_an_error_is_a_sentence_without_its_class(error, code, monkeypatch, capsys):
    found, said = shown(error, monkeypatch, capsys)
    assert found == code
    assert said == f"Error: {error}\n"
    assert type(error).__name__ not in said


def test_an_error_without_words_of_its_own_says_what_its_class_means(monkeypatch, capsys):
    _, said = shown(AppendConflict(), monkeypatch, capsys)
    assert said.startswith("Error: Another writer wrote to this partition")


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


def test_a_data_directory_that_was_named_is_what_the_error_is_about(drover, monkeypatch):
    monkeypatch.setenv("DROVER_NATS_URL", "nats://127.0.0.1:1")
    code, _, said = drover("status", "--data-dir", "elsewhere")
    assert code == Exit.UNREACHABLE
    assert "elsewhere" in said
    assert "drover up --data-dir elsewhere" in said
    assert "DROVER_NATS_URL" not in said


def test_without_a_platform_all_three_ways_to_name_one_are_said(drover):
    code, _, said = drover("status")
    assert code == Exit.UNREACHABLE
    assert all(way in said for way in ("`drover up`", "--data-dir", "DROVER_NATS_URL"))


@pytest.mark.parametrize(
    ("command", "setting", "url"),
    [
        (("events", "tail"), "DROVER_NATS_URL", "nats://127.0.0.1:1"),
        (("migrate",), "DROVER_POSTGRES_URL", "postgresql://nobody@127.0.0.1:1/none"),
    ],
)
def test_a_server_that_does_not_answer_is_named_with_its_setting(command, setting, url, drover, monkeypatch):
    monkeypatch.setenv(setting, url)
    code, _, said = drover(*command)
    assert code == Exit.UNREACHABLE
    assert f"check {setting}" in said


@pytest.mark.parametrize("command", [("key", "anon"), ("key", "anon", "--data-dir", ".drover"), ("status",)])
def test_a_data_directory_of_another_user_is_said_to_be_one(command, drover, monkeypatch):
    def refuse(path, *arguments, **options):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    Path(".drover").mkdir()
    for name in ("read_bytes", "stat"):
        monkeypatch.setattr(Path, name, refuse)
    code, _, said = drover(*command)
    assert code == Exit.CONFIGURATION
    assert "permission denied" in said
    assert "run this command as that user" in said


def test_nobody_is_asked_for_a_password_where_there_is_no_platform(drover, monkeypatch):
    monkeypatch.setattr(click, "prompt", lambda *words, **options: pytest.fail("asked for a password"))
    code, _, said = drover("account", "add", "somebody@example.com")
    assert code == Exit.UNREACHABLE
    assert "No platform" in said


def test_a_password_that_nobody_can_type_is_to_come_from_standard_input(drover, monkeypatch):
    environ = {"DROVER_NATS_URL": "nats://127.0.0.1:1", "DROVER_POSTGRES_URL": "postgresql://127.0.0.1:1/none"}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdin", StringIO())
    code, _, said = drover("account", "password", "somebody@example.com")
    assert code == Exit.USAGE
    assert "--password-stdin" in said


@pytest.mark.parametrize("option", [("up", "--port"), ("key", "anon", "--days"), ("events", "tail", "--last")])
def test_what_is_no_number_is_said_to_be_none(option, drover):
    code, _, said = drover(*option, "many")
    assert code == Exit.USAGE
    assert "'many' is not a valid number." in said


def test_each_setting_to_correct_has_a_line(drover):
    code, _, said = drover("serve", "api")
    assert code == Exit.CONFIGURATION
    first, *lines = said.splitlines()
    assert first == "Error: These settings must be corrected:"
    assert [line.split()[0] for line in lines] == ["DROVER_NATS_URL", "DROVER_POSTGRES_URL"]


def test_a_file_that_a_setting_names_is_missing_in_words(drover, monkeypatch):
    monkeypatch.setenv("DROVER_JWT_SECRETS_FILE", "nowhere")
    code, _, said = drover("key", "anon")
    assert code == Exit.CONFIGURATION
    assert "DROVER_JWT_SECRETS_FILE=nowhere cannot be read (No such file or directory)." in said


@pytest.mark.parametrize("page", ["--help", "--version"])
def test_a_wrong_setting_hides_no_help(page, drover, monkeypatch):
    monkeypatch.setenv("DROVER_JWT_SECRETS_FILE", "nowhere")
    assert drover(page)[0] == Exit.OK


@pytest.mark.parametrize(("names", "advice"), [(["DROVER_NATS_URL"], "Unset it"), (["A", "B"], "Unset them")])
def test_one_foreign_setting_is_it_and_two_are_them(names, advice):
    assert advice in str(ForeignSettings(names))


@pytest.mark.req("SE-02")
@pytest.mark.parametrize("environ", [{"DROVER_HTTP_HOST": "0.0.0.0"}, {"DROVER_ANON": "read"}])
def test_a_demo_whose_farm_may_do_nothing_is_refused_before_anything_starts(environ, drover, monkeypatch, tmp_path):
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    code, _, said = drover("up", "--demo", "--data-dir", str(tmp_path / "data"))
    assert code == Exit.CONFIGURATION
    assert "Set DROVER_ANON=agent" in " ".join(said.split())
    assert not (tmp_path / "data").exists()


def test_without_a_receiver_of_alerts_the_settings_to_set_are_named(drover):
    code, said, _ = drover("alerts", "test")
    assert code == Exit.CONFIGURATION
    assert "Set DROVER_ALERT_SLACK_URL or DROVER_ALERT_WEBHOOK_URL" in said


def test_every_error_with_an_exit_code_exists():
    for name in exits.CODES:
        module, _, kind = name.rpartition(".")
        assert issubclass(getattr(importlib.import_module(module), kind), DroverError), name


@pytest.mark.parametrize(
    "error",
    [
        AppriseAddressBad(1),
        ExtraMissing("pywebpush", "webpush"),
        FarmLockedOut(load({"DROVER_HTTP_HOST": "0.0.0.0"}, without=REQUIRED)),
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
    for handler in ast.walk(parse(path)):
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
