"""What a command imports before it runs. Time differs between machines; the list of modules does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from drover.cli.group import drover
from drover.cli.service_names import SERVICES
from drover.embedded.credentials import load_or_create_secrets
from tests.unit.cli.tree import walk

OURS = {f"drover.{name}" for name in (*SERVICES, "simulator")}
DRIVERS = {"aiohttp", "asyncpg", "nats"}
MEDIA = {"av", "smbprotocol"}
HEAVY = OURS | DRIVERS | MEDIA | {"argon2", "asyncio", "cryptography", "jwt", "rich", "structlog", "uvloop"}
RUN = """
import json, sys
from drover.cli.group import run
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["drover", *arguments]
    run()
"""
LIST = """
import json, sys
print("\\n" + json.dumps(sorted(sys.modules)))
"""


def imported(*command_lines, cwd=None):
    """The modules that a process has after these command lines."""
    return modules_after(RUN, json.dumps(command_lines), cwd=cwd)


def modules_after(code, *arguments, cwd):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DROVER_")}
    argv = [sys.executable, "-c", code + LIST, *arguments]
    ended = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=cwd, env=clean)
    return set(json.loads(ended.stdout.splitlines()[-1]))


def packages(modules):
    """Top-level packages of others, and ours by their second part: `drover.api`. A service's settings are light."""
    return {_package(name.split(".")) for name in modules}


def _package(parts):
    if parts[0] != "drover":
        return parts[0]
    return ".".join(parts[:2]) if len(parts) > 2 and parts[-1] not in ("settings", "identity") else ""


@pytest.fixture(scope="module")
def after_help():
    """After every help page there is, one after the other."""
    return imported(*([*path, "--help"] for path, _ in walk(drover)), ["--version"])


def test_no_help_page_imports_a_driver_or_a_service(after_help):
    assert packages(after_help) & HEAVY == set()


def test_no_help_page_imports_what_does_the_work(after_help):
    assert after_help & {"drover.cli.status", "drover.cli.target", "drover.domain.fleet"} == set()


def test_a_key_is_issued_without_a_driver_or_a_service(tmp_path):
    (tmp_path / ".drover").mkdir()
    load_or_create_secrets(tmp_path / ".drover")
    found = imported(["key", "anon"], cwd=tmp_path)
    assert "drover.cli.key" in found
    assert packages(found) & (OURS | DRIVERS | MEDIA | {"asyncio", "rich"}) == set()


@pytest.mark.parametrize("command", [["events", "tail"], ["events", "show", "1"], ["events", "grep"], ["reactors"]])
def test_what_reads_the_log_imports_no_service(command, tmp_path):
    found = imported(command, cwd=tmp_path)
    assert "drover.cli.target" in found
    assert packages(found) & (OURS | MEDIA | {"cryptography", "jwt"}) == set()


@pytest.mark.parametrize("command", [["jobs", "list"], ["devices", "show", "R58"], ["why", "R58"]])
def test_what_operates_the_farm_imports_an_http_client_and_no_service(command, tmp_path):
    found = imported(command, cwd=tmp_path)
    assert packages(found) & (OURS | DRIVERS | MEDIA | {"cryptography", "jwt", "uvloop"}) == {"aiohttp"}
    assert "drover.domain.fleet" not in found


def test_the_status_imports_no_service_but_the_one_that_reads_it(tmp_path):
    found = packages(imported(["status"], cwd=tmp_path))
    assert found & (OURS | MEDIA) == {"drover.api"}


@pytest.mark.parametrize("command", ["up", "serve"])
def test_a_platform_imports_no_simulator_and_nothing_for_films_or_smb_before_it_needs_them(command, tmp_path):
    found = packages(modules_after(f"import drover.cli.{command}", cwd=tmp_path))
    assert found & (MEDIA | {"spnego", "drover.simulator"}) == set()
    assert found >= OURS - {"drover.simulator"} | DRIVERS


@pytest.mark.control
def test_a_module_that_does_the_work_would_be_seen(tmp_path):
    assert packages(imported(["serve", "api"], cwd=tmp_path)) >= OURS - {"drover.simulator"} | DRIVERS
