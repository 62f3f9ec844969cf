"""The pages of the site besides those in docs/, and the links of all pages.

Pages link to each other, and to code, by paths in the repository, so that they can be read there. The site has pages
from other folders under other paths, and a copy of each file that a page names, as text.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = "docs"
SOURCE: Final = "source"
"""The folder of the site with copies of code that pages name."""
ELSEWHERE: Final = {
    "README.md": "start.md",
    "README.ko.md": "ko.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "contracts/README.md": "reference/contracts.md",
}
"""Pages of the repository that are not in docs/, with their paths in the site."""
INDEX: Final = "README.md"
_IN_REPOSITORY: Final = {path: file for file, path in ELSEWHERE.items()}
_NOT_PROSE: Final = re.compile(r"^ *```.*?^ *```$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
_LINK: Final = re.compile(r"(\]\()([^)\s#]+)(?=[#)\s])")
_PICTURE: Final = re.compile(r"!\[[^\]]*\]\(([^)#]+)[^)]*\)")
_ONLY_IN_THE_SITE: Final = re.compile(r"<!-- only in the site\n(.*?)\n-->", re.DOTALL)
"""Markdown that readers of the repository do not see: links to generated pages."""
_OTHER_SITE: Final = re.compile(r"[a-z]+:")
_GENERATED: Final = "__pycache__"


def file_of(page: str) -> str:
    """Return the file in the repository that a page of the site is made from."""
    return _IN_REPOSITORY.get(page, f"{DOCS}/{page}")


def linked_code(page: str, markdown: str) -> Iterator[str]:
    """Yield the paths of all files and folders that a page links to and that are no pages of the site."""
    for target in _targets(markdown):
        path = _path(page, target)
        if _page_of(path) is None and (ROOT / path).exists():
            yield path


def copy_of(path: str) -> str:
    """Return where the site has the copy of a file, or the list of files of a folder. Browsers show text."""
    return f"{SOURCE}/{path}.txt"


def listing_of(folder: Path) -> str:
    """Return the names of all files in a folder."""
    files = (file for file in sorted(folder.rglob("*")) if file.is_file() and _GENERATED not in file.parts)
    return "".join(f"{file.relative_to(ROOT).as_posix()}\n" for file in files)


def page_for_the_site(page: str, markdown: str) -> str:
    """Return a page of the repository as the site has it."""
    shown = _ONLY_IN_THE_SITE.sub(r"\1", markdown)
    return with_pictures_to_open(with_lists_of_four_spaces(with_links_of_the_site(page, shown)))


def with_links_of_the_site(page: str, markdown: str) -> str:
    """Replace the links to files of the repository by links to the pages and copies that the site has. A link to
    nothing stays as it is; the build refuses it."""

    def replaced(found: re.Match[str]) -> str:
        path = _path(page, found[2])
        target = _page_of(path) or (copy_of(path) if (ROOT / path).exists() else None)
        if _OTHER_SITE.match(found[2]) or target is None:
            return found[0]
        return found[1] + posixpath.relpath(target, posixpath.dirname(page) or ".")

    return _outside_code(markdown, lambda prose: _LINK.sub(replaced, prose))


def with_pictures_to_open(markdown: str) -> str:
    """Make each picture a link to itself: in a page, and even more so on a phone, it is shown smaller than it is."""
    return _outside_code(markdown, lambda prose: _PICTURE.sub(r"[\g<0>](\1)", prose))


def with_lists_of_four_spaces(markdown: str) -> str:
    """Indent what belongs to an item of a list by four spaces. GitHub takes two or three, Python-Markdown does not."""
    lines: list[str] = []
    fence_indent: int | None = None
    for line in markdown.splitlines():
        indent = len(line) - len(line.lstrip(" "))
        if line.lstrip().startswith("```"):
            fence_indent = indent if fence_indent is None else None
            lines.append(_shifted(line, indent))
        else:
            lines.append(_shifted(line, indent if fence_indent is None else fence_indent))
    return "\n".join(lines)


def _shifted(line: str, indent: int) -> str:
    return " " * (4 - indent) + line if indent in (2, 3) and line else line


def _targets(markdown: str) -> Iterator[str]:
    for found in _LINK.finditer(_NOT_PROSE.sub("", markdown)):
        if not _OTHER_SITE.match(found[2]):
            yield found[2]


def _path(page: str, target: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(file_of(page)), target))


def _page_of(path: str) -> str | None:
    """Return the page or picture of the site that a file of the repository is, if it is one."""
    if path in ELSEWHERE:
        return ELSEWHERE[path]
    if path == DOCS or path.startswith(f"{DOCS}/"):
        inside = path.removeprefix(DOCS).removeprefix("/")
        return posixpath.join(inside, INDEX) if (ROOT / path).is_dir() else inside
    return None


def _outside_code(markdown: str, change: Callable[[str], str]) -> str:
    parts: list[str] = []
    end = 0
    for found in _NOT_PROSE.finditer(markdown):
        parts += change(markdown[end : found.start()]), found[0]
        end = found.end()
    return "".join((*parts, change(markdown[end:])))
