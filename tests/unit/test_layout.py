"""EV-10: the top-level entries of the repository, and which package does which job."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

from tests.sources import parse

ROOT = Path(__file__).parents[2]
TREES = (ROOT / "libs" / "drover", ROOT / "services" / "drover")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ENTRIES = {
    "contracts": "openapi.yaml",
    "deploy": "compose.yaml",
    "docs": "architecture.md",
    "libs": "drover/domain",
    "services": "drover/gateway",
    "tests": "unit",
    "pyproject.toml": "",
}
"""The seven, each with something that belongs there."""

JOBS = {
    "nats-py": ("nats", {"bus", "eventlog", "writer"}),
    "asyncpg": ("asyncpg", {"postgres", "projection"}),
    "msgspec": ("msgspec", {"domain", "eventlog", "bus", "web"}),
    "aiohttp": ("aiohttp", {"web", "gateway", "api", "outbound"}),
    "uvloop": ("uvloop", {"cli"}),
    "prometheus-client": ("prometheus_client", {"service", "writer", "projection", "web"}),
}
"""Packages with their module, and the layers that cannot do their job without it."""

RIVALS = {
    *("aiokafka", "aio_pika", "redis", "celery"),
    *("psycopg", "psycopg2", "sqlalchemy", "aiopg"),
    *("pydantic", "orjson", "marshmallow", "pickle"),
    *("fastapi", "starlette", "flask", "django", "httpx", "requests"),
    *("statsd", "opencensus"),
}
"""Modules that would do the same jobs a second time."""


def imports() -> dict[str, set[str]]:
    """Which layers import a module, by the module's top-level name."""
    found: dict[str, set[str]] = {}
    for tree in TREES:
        for path in tree.rglob("*.py"):
            for node in ast.walk(parse(path)):
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    names = [node.module]
                else:
                    continue
                for name in names:
                    found.setdefault(name.partition(".")[0], set()).add(path.relative_to(tree).parts[0])
    return found


@pytest.fixture(scope="module")
def imported():
    return imports()


def pinned(name: str) -> set[str]:
    return set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements" / name).read_text(), re.MULTILINE))


@pytest.mark.req("EV-10")
@pytest.mark.parametrize("entry", ENTRIES)
def test_each_top_level_entry_is_there_and_has_what_belongs_to_it(entry):
    assert (ROOT / entry / ENTRIES[entry]).exists()


@pytest.mark.req("EV-10")
@pytest.mark.parametrize("package", JOBS)
def test_each_package_is_declared_pinned_and_does_its_job(imported, package):
    module, layers = JOBS[package]
    declared = {re.split(r"[\[<>=; ]", one)[0] for one in PROJECT["dependencies"]}
    assert package in declared
    assert package in pinned("runtime.txt") & pinned("image.txt")
    assert layers <= imported[module]


@pytest.mark.req("EV-10")
def test_no_second_package_does_one_of_these_jobs(imported):
    assert RIVALS & imported.keys() == set()


@pytest.mark.req("EV-10")
def test_the_decisions_use_msgspec_only_and_no_package_that_does_io(imported):
    for package, (module, _) in JOBS.items():
        assert package == "msgspec" or "domain" not in imported[module], package


@pytest.mark.req("EV-10")
def test_the_tests_run_coroutines_by_pytest_asyncio():
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert options["asyncio_mode"] == "auto"
    assert "pytest-asyncio" in pinned("dev.txt")


@pytest.mark.req("EV-10")
def test_the_tests_start_containers_by_testcontainers():
    assert "from testcontainers." in (ROOT / "tests" / "containers.py").read_text()
    assert "testcontainers" in pinned("dev.txt")


@pytest.mark.req("EV-10")
@pytest.mark.parametrize("program", ["cli/serve.py", "cli/up.py", "simulator/__main__.py"])
def test_every_program_that_serves_runs_on_uvloop(program):
    text = (ROOT / "services" / "drover" / program).read_text()
    assert "uvloop.run(" in text
    assert "asyncio.run(" not in text
