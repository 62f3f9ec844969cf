"""Reads which packages the repository pins: Python's in `requirements/*.txt`, npm's in `package-lock.json`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import quote

import msgspec

Ecosystem = Literal["PyPI", "npm"]
"""As OSV, the database of vulnerabilities, names them."""

_PIN: Final = re.compile(r"^([a-z0-9.-]+)(?:\[[^\]]*\])?==([^ ;\\]+)")
_VIA: Final = re.compile(r"^ {4}#(?: via)? +(.+)$")
_FOLDER: Final = "node_modules/"


class Package(msgspec.Struct, frozen=True):
    """One version of one package."""

    ecosystem: Ecosystem
    name: str
    version: str

    @property
    def purl(self) -> str:
        """The package URL, by which tools know a package."""
        kind = {"PyPI": "pypi", "npm": "npm"}[self.ecosystem]
        return f"pkg:{kind}/{quote(self.name)}@{quote(self.version)}"


class Pin(msgspec.Struct, frozen=True):
    """A package, with what its lock file says about it."""

    package: Package
    needs: tuple[Package, ...] = ()
    direct: bool = False
    """Whether Drover itself asks for it."""
    development: bool = False
    """Whether it is used to build and test only."""
    license: str | None = None
    integrity: str | None = None
    """A hash of the package, as npm writes it: `sha512-<base64>`."""


def python_pins(file: Path) -> list[Pin]:
    """Read a file that `uv pip compile` wrote. It names below each package who needs it."""
    packages: list[Package] = []
    needed_by: list[tuple[str, Package]] = []
    for line in file.read_text(encoding="utf-8").splitlines():
        if pin := _PIN.match(line):
            packages.append(Package("PyPI", pin[1], pin[2]))
        elif via := _VIA.match(line):
            needed_by.append((re.split(r"[\[ ]", via[1])[0], packages[-1]))
    return [
        Pin(
            package,
            needs=tuple(needed for who, needed in needed_by if who == package.name),
            direct=("drover", package) in needed_by,
        )
        for package in packages
    ]


def npm_pins(file: Path) -> list[Pin]:
    """Read a `package-lock.json` of version 3, whose keys are the folders into which npm installs."""
    folders: dict[str, dict[str, Any]] = msgspec.json.decode(file.read_bytes())["packages"]
    root = folders.pop("")
    packages = {
        folder: Package("npm", entry.get("name") or folder.rpartition(_FOLDER)[2], entry["version"])
        for folder, entry in folders.items()
    }
    direct = {packages[folder] for name in root.get("dependencies", ()) if (folder := _resolve("", name, packages))}
    return [
        Pin(
            packages[folder],
            needs=tuple(_needs(folder, entry, packages)),
            direct=packages[folder] in direct,
            development=bool(entry.get("dev") or entry.get("devOptional")),
            license=entry.get("license"),
            integrity=entry.get("integrity"),
        )
        for folder, entry in folders.items()
    ]


def _needs(folder: str, entry: dict[str, Any], packages: dict[str, Package]) -> Iterator[Package]:
    for kind in ("dependencies", "optionalDependencies", "peerDependencies"):
        for name in entry.get(kind, ()):
            if (found := _resolve(folder, name, packages)) is not None:
                yield packages[found]


def _resolve(folder: str, name: str, packages: dict[str, Package]) -> str | None:
    """Find the folder that Node uses for an import: in this folder, or in the nearest one above. None: an optional or
    peer dependency that is not installed."""
    while True:
        candidate = f"{folder}/{_FOLDER}{name}".removeprefix("/")
        if candidate in packages:
            return candidate
        if not folder:
            return None
        folder = folder.rpartition(_FOLDER)[0].rstrip("/")
