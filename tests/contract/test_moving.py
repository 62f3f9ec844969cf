"""`docs/moving`: what the pages for users of Supabase name exists, and each difference names what shows it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from drover.gateway.tables.all import TABLES
from drover.platform.settings import FIELDS, load
from drover.readmodel.models import RELATIONS
from drover.service.config import REQUIRED
from drover.service.other_names import MEANINGLESS
from drover.service.other_names import SETTINGS as OTHER_NAMES
from drover.web.auth import Role
from drover.web.permissions import TABLE
from tests.contract.routes import BY_SERVICE
from tests.seeds.programs import DOCUMENTS
from tests.seeds.programs import HERE as PROGRAMS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "moving"
PAGES = {
    "000": "device-farm.md",
    "001": "analyses.md",
    "002": "operations-queue.md",
    "003": "renders.md",
    "004": "reminders.md",
}
ALL = ["README.md", *PAGES.values()]
DOORS = ("/rest", "/realtime", "/auth")
NOT_OURS = {"DEBUG", *MEANINGLESS, "NEXT_PUBLIC_ENABLE_SENTRY", "CLERK_SECRET_KEY"}
"""Names of variables that a page may mention though no setting has them."""
FUNCTIONS = {grant.relation for rule in TABLE for grant in rule.grants() if grant.relation.startswith("rpc/")}

DECLARED = {
    (table.relation, verb)
    for table in TABLES
    for verb, declared in (
        ("insert", table.insert),
        ("upsert", table.insert and table.insert.merge),
        ("update", table.update),
        ("delete", table.delete),
    )
    if declared
}
"""The writes that the gateway takes."""

pytestmark = pytest.mark.req("DI-21")


class Block(NamedTuple):
    when: str
    """`before` or `after`."""
    lines: list[str]


@cache
def text_of(page: str) -> str:
    return (FOLDER / page).read_text()


@cache
def prose_of(page: str) -> str:
    """Without code, in which keys have names of their own."""
    return re.sub(r"^```.*?^```$", "", text_of(page), flags=re.DOTALL | re.MULTILINE)


def section(page: str, *titles: str) -> str:
    for title in titles:
        if found := re.search(rf"^## {title}$(.*?)(?=^## |\Z)", text_of(page), re.DOTALL | re.MULTILINE):
            return found[1]
    raise AssertionError(f"{page} has no section {titles[0]}")


def rows(text: str) -> list[list[str]]:
    """The rows of the tables in a text, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    heads = {index - 1 for index, line in enumerate(lines) if set(line) <= set("|-")}
    body = [line for index, line in enumerate(lines) if index not in heads and not set(line) <= set("|-")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in body]


def names_in(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def blocks(page: str) -> list[Block]:
    found = re.findall(r"^```\w+\n(?://|#|--) (before|after)\n(.*?)^```$", text_of(page), re.DOTALL | re.MULTILINE)
    return [Block(when, code.splitlines()) for when, code in found]


def steps_of(program: Path) -> set[str]:
    return {f"{part} {what}" for part, what in re.findall(r'step\("([^"]+)", "([^"]+)"', program.read_text())}


def writes_of(document: str) -> set[tuple[str, str]]:
    """Which tables the programs of a document write, and how."""
    code = "".join((PROGRAMS / program).read_text() for program in DOCUMENTS[document])
    verbs = {"POST": "insert", "PATCH": "update"}
    by_client = set(re.findall(r'(?:from|table)\("(\w+)"\)\s*\.\s*(insert|upsert|update|delete)', code))
    by_hand = {(name, verbs[verb]) for verb, name in re.findall(r'rest\("(POST|PATCH)", [`"](\w+)', code)}
    return by_client | by_hand


def test_there_is_a_page_for_the_users_of_each_document():
    assert PAGES.keys() == DOCUMENTS.keys()
    assert {path.name for path in FOLDER.iterdir()} == set(ALL)
    index = dict(re.findall(r"\| (\d{3}) \| \[(\S+)\]", text_of("README.md")))
    assert index == PAGES
    for readme in ("README.md", "README.ko.md"):
        assert "docs/moving/README.md" in (ROOT / readme).read_text()


@pytest.mark.parametrize("page", PAGES.values())
def test_before_and_after_differ_in_nothing_but_the_url_and_the_key(page):
    code = blocks(page)
    assert len(code) >= 2
    assert [block.when for block in code] == ["before", "after"] * (len(code) // 2)
    for before, after in zip(code[::2], code[1::2], strict=True):
        changed = [pair for pair in zip(before.lines, after.lines, strict=True) if pair[0] != pair[1]]
        assert changed
        for old, new in changed:
            assert re.search(r"https://|KEY", old)
            assert re.search(r"https://drover\.example\.com|DROVER_(ANON|SERVICE)_KEY", new), new


@pytest.mark.parametrize("page", PAGES.values())
def test_each_page_says_what_differs_at_each_door(page):
    where = " ".join(row[0] for row in rows(section(page, "What differs")))
    for door in DOORS:
        assert f"`{door}`" in where, door


@pytest.mark.parametrize("page", ALL)
def test_each_difference_names_a_test_or_a_step_that_is_there(page):
    table = rows(section(page, "What differs", "What differs for everybody"))
    assert len(table) >= 8
    for row in table:
        assert len(row) == 4, row
        link = re.fullmatch(r'\[shown\]\((\S+) "([^"]+)"\)', row[3])
        assert link, row
        path = (FOLDER / link[1]).resolve()
        if path.parent == PROGRAMS:
            assert link[2] in steps_of(path), row
        else:
            assert re.search(rf"^(async )?def {link[2]}\(", path.read_text(), re.MULTILINE), row


@pytest.mark.parametrize("page", ALL)
def test_every_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)\s#]+)", text_of(page)):
        assert (FOLDER / target).exists(), target


@pytest.mark.parametrize("page", ALL)
def test_every_setting_that_a_page_names_is_read(page):
    for name in re.findall(r"\bDROVER_[A-Z_]*[A-Z]", prose_of(page)):
        assert name in FIELDS, name


@pytest.mark.parametrize("page", PAGES.values())
def test_drover_starts_with_the_settings_of_a_page(page):
    named = [name.partition("=") for row in rows(section(page, "Settings")) for name in names_in(row[0])]
    for name, _, _ in named:
        assert name in FIELDS or name in OTHER_NAMES or name in NOT_OURS, name
    load({name: value for name, _, value in named if value and name in FIELDS}, without=REQUIRED)


@pytest.mark.parametrize("document", PAGES)
def test_every_table_and_function_that_a_page_names_is_there(document):
    page = PAGES[document]
    listed = {name for row in rows(section(page, "Tables", "Tables and functions")) for name in names_in(row[0])}
    for name in listed:
        assert name in (FUNCTIONS if name.startswith("rpc/") else RELATIONS), name
    code = text_of(page)
    used = {*re.findall(r'(?:from|table)\("(\w+)"\)', code), *re.findall(r"/rest/v1/(\w+)\?", code)}
    called = {f"rpc/{name}" for name in re.findall(r'\.rpc\("(\w+)"', code)}
    assert used | called <= listed


@pytest.mark.parametrize("document", PAGES)
def test_every_write_that_a_page_names_is_declared_or_tried_by_a_program(document):
    possible = writes_of(document) | DECLARED
    for row in rows(section(PAGES[document], "Tables", "Tables and functions")):
        for name in names_in(row[0]):
            for verb in {"insert", "upsert", "update", "delete"} & set(row[1].split(", ")):
                assert (name, verb) in possible, (name, verb)


def test_what_the_pages_say_is_not_there_is_not_there():
    paths = {route.path for routes in BY_SERVICE.values() for route in routes}
    for absent in ("/storage", "/functions", "/graphql"):
        assert not [path for path in paths if path.startswith(absent)]
    assert {path for path in paths if path.startswith("/auth/")} == {
        f"/auth/v1/{name}" for name in ("token", "user", "logout", ".well-known/jwks.json")
    }


def test_people_of_another_issuer_have_the_api_and_no_tables():
    granted = {grant.relation for rule in TABLE for grant in rule.grants() if grant.role is Role.AUTHENTICATED}
    assert granted == {"me", "my_tests", "my_alarms", "public_channels"}
    assert not granted & RELATIONS.keys()
