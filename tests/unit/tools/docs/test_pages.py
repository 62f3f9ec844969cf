"""Links of the documentation: each leads somewhere, in the repository and in the site.

`make docs` checks the built site, headings of generated pages included. This is what can be checked without building.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

from tools.docs.__main__ import expanded, write
from tools.docs.built_site import loads_from_elsewhere
from tools.docs.pages import (
    DOCS,
    ELSEWHERE,
    ROOT,
    copy_of,
    linked_code,
    listing_of,
    with_links_of_the_site,
    with_lists_of_four_spaces,
    with_pictures_to_open,
)
from tools.docs.reference import reference_pages

WRITTEN = [*ELSEWHERE, *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / DOCS).rglob("*.md")))]
CODE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
ONLY_IN_THE_SITE = re.compile(r"<!-- only in the site\n.*?\n-->", re.DOTALL)
LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]+))?")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


@cache
def prose_of(path: str) -> str:
    text = (ROOT / path).read_text(encoding="utf-8")
    return ONLY_IN_THE_SITE.sub("", CODE.sub("", text))


@cache
def anchors_of(path: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    titles = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in HEADING.findall(prose_of(path)))
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}


def broken(page: str, text: str) -> Iterator[str]:
    for target, anchor in LINK.findall(text):
        place = ((ROOT / page).parent / target if target else ROOT / page).resolve()
        if not place.exists():
            yield f"{page}: {target}"
        elif (
            anchor and place.suffix == ".md" and anchor not in anchors_of(place.resolve().relative_to(ROOT).as_posix())
        ):
            yield f"{page}: {target}#{anchor}"


@pytest.mark.parametrize("page", WRITTEN)
def test_every_link_leads_to_a_file_and_a_heading(page):
    assert list(broken(page, prose_of(page))) == []


@pytest.mark.control
@pytest.mark.parametrize("link", ["nowhere.md", "fleet.md#nowhere", "#nowhere", "../nowhere.py"])
def test_a_link_to_nowhere_is_found(link):
    assert len(list(broken("docs/architecture.md", f"see [this]({link}) and [that](fleet.md#words)"))) == 1


def entries(nav: object) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        yield from entries(list(nav.values()))
    elif isinstance(nav, list):
        for one in nav:
            yield from entries(one)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with everything that the site is built from."""
    folder = tmp_path_factory.mktemp("docs")
    write(folder)
    return folder


def test_every_page_has_a_place_in_the_navigation_and_every_place_a_page(written):
    nav = yaml.safe_load((written / "mkdocs.yml").read_text().partition("\nnav:\n")[2])
    pages = [path.relative_to(written / "pages").as_posix() for path in (written / "pages").rglob("*.md")]
    assert sorted(entries(nav)) == sorted(pages)
    assert {*ELSEWHERE.values(), *reference_pages()} <= set(pages)


def test_a_folder_in_the_navigation_stands_for_its_pages_with_the_index_first():
    assert expanded([{"Decisions": "adr/"}])[0]["Decisions"][:2] == [
        "adr/README.md",
        "adr/0001-one-log-is-the-only-truth.md",
    ]
    assert expanded("reference/events/")[0] == "reference/events/index.md"
    assert expanded(["fleet.md"]) == ["fleet.md"]


def test_every_link_of_a_written_page_leads_to_a_file_that_was_written(written):
    lost = []
    for page in sorted((written / "pages").rglob("*.md")):
        for target, _ in LINK.findall(CODE.sub("", page.read_text())):
            if target and not (page.parent / target).exists():
                lost.append((page.name, target))
    assert lost == []


def test_what_only_the_site_shows_is_in_it(written):
    assert "(reference/settings.md)" in (written / "pages" / "README.md").read_text()


@pytest.mark.parametrize(
    ("tag", "found"),
    [
        ('<script src="https://cdn.example.com/a.js">', True),
        ('<link rel="stylesheet" href="//fonts.example.com/a.css">', True),
        ("<img alt='' src=https://example.com/a.png>", True),
        ('<script src="../assets/a.js">', False),
        ('<a href="https://example.com">', False),
    ],
)
def test_a_page_that_would_load_something_from_elsewhere_is_found(tmp_path, tag, found):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "page.html").write_text(f"<html>{tag}</html>")
    assert loads_from_elsewhere(tmp_path) == ({"a/page.html": tag} if found else {})


@pytest.mark.parametrize(
    ("page", "link", "there"),
    [
        ("fleet.md", "architecture.md#words", "architecture.md#words"),
        ("fleet.md", "../CONTRIBUTING.md#tests", "contributing.md#tests"),
        ("moving/README.md", "../../CONTRIBUTING.md", "../contributing.md"),
        ("contributing.md", "docs/fleet.md", "fleet.md"),
        ("start.md", "docs/screenshots", "screenshots/README.md"),
        ("reference/contracts.md", "openapi.yaml", "../source/contracts/openapi.yaml.txt"),
        ("writers.md", "../libs/drover/eventlog/histories.py", "source/libs/drover/eventlog/histories.py.txt"),
        ("runbook.md", "../deploy/prometheus/rules", "source/deploy/prometheus/rules.txt"),
        ("fleet.md", "https://example.com/a.md", "https://example.com/a.md"),
        ("fleet.md", "nowhere.md", "nowhere.md"),
    ],
)
def test_a_link_of_the_repository_becomes_one_of_the_site(page, link, there):
    assert with_links_of_the_site(page, f"see [this]({link}).") == f"see [this]({there})."


def test_links_in_code_stay_as_they_are():
    text = "`[a](../CONTRIBUTING.md)`\n\n```md\n[a](../CONTRIBUTING.md)\n```\n"
    assert with_links_of_the_site("fleet.md", text) == text


def test_code_that_a_page_links_to_is_copied_into_the_site():
    text = "[a](../libs/drover/eventlog/histories.py) [b](fleet.md) [c](../CONTRIBUTING.md) [d](../nowhere.py)"
    assert list(linked_code("writers.md", text)) == ["libs/drover/eventlog/histories.py"]
    assert copy_of("libs/drover") == "source/libs/drover.txt"


def test_a_folder_is_shown_as_the_list_of_its_files():
    listed = listing_of(ROOT / "deploy" / "nats").splitlines()
    assert listed == sorted(Path(one).relative_to(ROOT).as_posix() for one in (ROOT / "deploy" / "nats").iterdir())


def test_items_of_lists_are_indented_as_python_markdown_needs_it():
    text = "* a\n  b\n  * c\n\n1. d\n\n   ```sh\n   e\n     f\n   ```\n\n```\n  g\n```"
    shown = "* a\n    b\n    * c\n\n1. d\n\n    ```sh\n    e\n      f\n    ```\n\n```\n  g\n```"
    assert with_lists_of_four_spaces(text) == shown


def test_a_picture_can_be_opened():
    assert with_pictures_to_open("![A phone](a/b.png#gh-dark-mode-only)") == (
        "[![A phone](a/b.png#gh-dark-mode-only)](a/b.png)"
    )
    assert with_pictures_to_open("| ![A](a.png) | ![B](b.png) |") == "| [![A](a.png)](a.png) | [![B](b.png)](b.png) |"
    assert with_pictures_to_open("`![A](a.png)`") == "`![A](a.png)`"
