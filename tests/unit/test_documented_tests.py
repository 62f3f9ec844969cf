"""The tables of docs/architecture.md and docs/security.md name code and tests: all of them exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.sources import parse

ROOT = Path(__file__).parents[2]
TREES = (ROOT / "libs" / "drover", ROOT / "services" / "drover", ROOT / "tests", ROOT)
"""Where the paths in a table begin."""
ARCHITECTURE, SECURITY = ROOT / "docs" / "architecture.md", ROOT / "docs" / "security.md"
OWASP = [f"API{number}:2023" for number in range(1, 11)]
_QUOTED = re.compile(r"`([^`]+)`")
_PATH = re.compile(r"[\w.-]+(/[\w.-]+)+")
_TEST = re.compile(r"test_\w+")


def table(page: Path, heading: str) -> list[str]:
    """The rows of the first table below a heading, without its head."""
    _, _, below = page.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    lines = re.search(r"(?:^\|.*\n)+", below, re.MULTILINE)
    assert lines is not None, f"{page.name} has no table below {heading!r}"
    return lines[0].splitlines()[2:]


def named(rows: list[str]) -> Iterator[tuple[str, Path | None, str]]:
    """What each row quotes that is a path, with where it leads, or a test, with the file that it should be in: the test
    file that was named last, in this row or above ("same file")."""
    file: Path | None = None
    for row in rows:
        for quoted in _QUOTED.findall(row):
            if _PATH.fullmatch(quoted):
                place = found(quoted)
                if "/test_" in quoted:
                    file = place
                yield row, place, quoted
            elif _TEST.fullmatch(quoted):
                yield row, file, quoted


def found(path: str) -> Path | None:
    return next((tree / path for tree in TREES if (tree / path).exists()), None)


@cache
def collected(file: Path) -> set[str]:
    """The tests that pytest collects: in a file `test_….py`, functions of the module and of its classes `Test…`. A
    function inside another one is not run."""
    if not (file.name.startswith("test_") and file.is_relative_to(ROOT / "tests")):
        return set()
    return _tests_of(parse(file))


def _tests_of(module: ast.Module) -> set[str]:
    classes = [node for node in module.body if isinstance(node, ast.ClassDef) and node.name.startswith("Test")]
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = [node for place in (module, *classes) for node in place.body]
    return {node.name for node in bodies if isinstance(node, kinds) and node.name.startswith("test_")}


def missing(rows: list[str]) -> list[str]:
    faults = []
    for row, file, name in named(rows):
        known = file is not None and (_PATH.fullmatch(name) or (file.is_file() and name in collected(file)))
        if not known:
            faults.append(f"{name}: {row[:60]}…")
    return faults


@pytest.mark.parametrize(
    ("page", "heading"),
    [
        (ARCHITECTURE, "Guarantees: where enforced, how tested"),
        (SECURITY, "Threats"),
        (SECURITY, "OWASP API Security Top 10 (2023)"),
    ],
    ids=["guarantees", "threats", "owasp"],
)
def test_all_code_and_tests_that_a_table_names_exist(page, heading):
    assert missing(table(page, heading)) == []


def test_each_threat_and_each_row_of_owasp_names_a_test():
    rows = table(SECURITY, "Threats") + table(SECURITY, "OWASP API Security Top 10 (2023)")
    assert [row for row in rows if not re.search(r"`[\w/]+/test_\w+\.py`", row)] == []


def test_all_ten_rows_of_owasp_are_there():
    rows = table(SECURITY, "OWASP API Security Top 10 (2023)")
    assert [row.split(" ", 2)[1] for row in rows] == OWASP


@pytest.mark.control
@pytest.mark.parametrize(
    "row",
    [
        "| a | `unit/web/test_nowhere.py` |",
        "| a | `unit/web/test_auth.py`: `test_that_nobody_wrote` |",
        "| a | `test_a_token_is_verified_once` |",
        "| a | `web/nowhere.py` |",
    ],
)
def test_a_name_that_leads_nowhere_is_found(row):
    assert len(missing([row])) == 1
    assert missing(["| a | `web/auth.py` | `unit/web/test_auth.py`: `test_a_token_is_verified_once` |"]) == []


@pytest.mark.control
def test_a_function_that_pytest_does_not_collect_is_no_test():
    inside = "def make():\n  def test_inside():\n    pass\nclass TestIt:\n  def test_method(self):\n    pass\n"
    file = ROOT / "tests" / "unit" / "test_documented_tests.py"
    assert "test_a_name_that_leads_nowhere_is_found" in collected(file)
    assert collected(ROOT / "tests" / "sources.py") == set()
    assert _tests_of(ast.parse(inside)) == {"test_method"}
