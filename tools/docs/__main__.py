"""`python -m tools.docs`: writes the pages of the site to `build/docs`. With `check`: looks at the built site.

Any builder that reads Markdown and a `mkdocs.yml` can make the site from them (`make docs`).
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any, Final

import yaml

from tools.docs.built_site import loads_from_elsewhere
from tools.docs.pages import DOCS, ELSEWHERE, INDEX, ROOT, copy_of, linked_code, listing_of, page_for_the_site
from tools.docs.reference import reference_pages

CONFIGURATION: Final = Path(__file__).parent / "mkdocs.yml"
ASSETS: Final = (*sorted((Path(__file__).parent / "assets").iterdir()), ROOT / "services/dashboard/public/favicon.svg")
BUILD: Final = ROOT / "build"


def write(folder: Path) -> None:
    """Write all pages and pictures, and the configuration for the builder."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = folder / "pages"
    shutil.copytree(ROOT / DOCS, pages)
    for origin, path in ELSEWHERE.items():
        _write(pages / path, (ROOT / origin).read_text(encoding="utf-8"))
    linked: set[str] = set()
    for page in sorted(pages.rglob("*.md")):
        path, text = page.relative_to(pages).as_posix(), page.read_text(encoding="utf-8")
        linked |= set(linked_code(path, text))
        page.write_text(page_for_the_site(path, text), encoding="utf-8")
    for path in linked:
        place = ROOT / path
        _write(pages / copy_of(path), listing_of(place) if place.is_dir() else place.read_text(encoding="utf-8"))
    for path, text in reference_pages().items():
        _write(pages / path, text)
    for asset in ASSETS:
        _write(pages / "assets" / asset.name, asset.read_text(encoding="utf-8"))
    head, _, nav = CONFIGURATION.read_text(encoding="utf-8").partition("\nnav:\n")
    full = yaml.safe_dump({"nav": expanded(yaml.safe_load(nav))}, allow_unicode=True, sort_keys=False)
    _write(folder / "mkdocs.yml", f"{head}\n{full}")


def expanded(nav: Any) -> Any:
    """Complete the navigation: an entry that is a folder stands for all pages in it."""
    if isinstance(nav, list):
        return [expanded(one) for one in nav]
    if isinstance(nav, dict):
        return {title: expanded(one) for title, one in nav.items()}
    return _pages_in(nav) if nav.endswith("/") else nav


def _pages_in(folder: str) -> list[str]:
    generated = [path for path in reference_pages() if path.startswith(folder)]
    written = [f"{folder}{path.name}" for path in (ROOT / DOCS / folder).glob("*.md")]
    return generated or sorted(written, key=lambda path: (not path.endswith(INDEX), path))


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def main(command: str) -> int:
    if command == "write":
        write(BUILD / "docs")
        return 0
    found = loads_from_elsewhere(BUILD / "site")
    for page, tag in found.items():
        print(f"{page} would load this from elsewhere: {tag}", file=sys.stderr)  # noqa: T201
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
