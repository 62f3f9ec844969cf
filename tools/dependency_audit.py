"""Looks for known vulnerabilities of all pinned packages: `python -m tools.dependency_audit`. The data are OSV's.

They come from its server, or from a folder with records of OSV (`--advisories`), for machines without the internet. An
audit without data is no audit: it says so, and fails only with `--required`.
"""

from __future__ import annotations

import argparse
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.error import URLError
from urllib.request import Request, urlopen

import msgspec
import yaml
from packaging.version import InvalidVersion, Version

from tools.pins import Package, npm_pins, python_pins

ROOT: Final = Path(__file__).parents[1]
SERVER: Final = "https://api.osv.dev"
QUERIES_MAX: Final = 1000
"""How many packages OSV takes in one request."""
TIMEOUT_S: Final = 30.0
EXIT_OK, EXIT_FOUND = 0, 1


class NoData(Exception):
    """The database of vulnerabilities cannot be read, or not all of it."""

    def __init__(self, reason: str, found: dict[Package, set[str]] | None = None) -> None:
        super().__init__(reason)
        self.found = found or {}


def pinned(root: Path = ROOT) -> set[Package]:
    """Return all packages that are pinned anywhere, also those that only build and test."""
    files = [path for path in root.rglob("package-lock.json") if "node_modules" not in path.parts]
    assert files, f"no package-lock.json below {root}"
    pins = [pin for file in files for pin in npm_pins(file)]
    pins += [pin for file in (root / "requirements").glob("*.txt") for pin in python_pins(file)]
    return {pin.package for pin in pins}


def ask(server: str, packages: Iterable[Package]) -> dict[Package, set[str]]:
    """Ask OSV's server for the ids of the vulnerabilities of each package that has any."""
    found: dict[Package, set[str]] = {}
    waiting = [(package, "") for package in packages]
    while waiting:
        following: list[tuple[Package, str]] = []
        for start in range(0, len(waiting), QUERIES_MAX):
            queries = waiting[start : start + QUERIES_MAX]
            results = _post(f"{server}/v1/querybatch", [_query(*one) for one in queries])
            for (package, _), result in zip(queries, results, strict=True):
                if ids := {vulnerability["id"] for vulnerability in result.get("vulns", ())}:
                    found.setdefault(package, set()).update(ids)
                if page := result.get("next_page_token"):
                    following.append((package, page))
        waiting = following
    return found


def _query(package: Package, page: str) -> dict[str, Any]:
    query: dict[str, Any] = {"package": {"purl": package.purl}}
    return query | {"page_token": page} if page else query


def _post(url: str, queries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    body = msgspec.json.encode({"queries": queries})
    request = Request(url, body, {"Content-Type": "application/json"})  # noqa: S310 - the address of a person's choice
    try:
        with urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310 - likewise
            results: list[dict[str, Any]] = msgspec.json.decode(answer.read())["results"]
            return results
    except (OSError, URLError, msgspec.DecodeError, KeyError) as error:
        raise NoData(f"{url} does not answer ({error})") from error


def look_up(folder: Path, packages: Iterable[Package]) -> dict[Package, set[str]]:
    """Find the vulnerabilities of packages among the records in a folder, which must have some of each ecosystem."""
    wanted: dict[tuple[str, str], list[Package]] = {}
    for package in packages:
        wanted.setdefault((package.ecosystem, package.name), []).append(package)
    found: dict[Package, set[str]] = {}
    missing = {ecosystem for ecosystem, _ in wanted}
    for record in records(folder):
        for affected in record.get("affected", ()) if "withdrawn" not in record else ():
            named = affected.get("package", {})
            missing.discard(named.get("ecosystem"))
            for package in wanted.get((named.get("ecosystem", ""), named.get("name", "")), ()):
                if is_affected(package, affected):
                    found.setdefault(package, set()).add(record["id"])
    if missing:
        raise NoData(
            f"{folder} has no records of OSV about {' and '.join(sorted(missing))} (*.json, *.yaml, *.zip)", found
        )
    return found


def records(folder: Path) -> Iterator[dict[str, Any]]:
    """Read the records of a folder and of the zips in it, as OSV exports them for each ecosystem (`all.zip`)."""
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".json":
            yield msgspec.json.decode(path.read_bytes())
        elif path.suffix == ".yaml":
            yield yaml.load(path.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
        elif path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                yield from (msgspec.json.decode(archive.read(name)) for name in archive.namelist())


def is_affected(package: Package, affected: dict[str, Any]) -> bool:
    """Decide by the versions and the ranges of versions that a record lists."""
    if package.version in affected.get("versions", ()):
        return True
    ranges = (one for one in affected.get("ranges", ()) if one["type"] in ("ECOSYSTEM", "SEMVER"))
    return any(_is_within(package.version, one["events"]) for one in ranges)


def _is_within(version: str, events: list[dict[str, str]]) -> bool:
    own = _order(version)
    within = False
    for event in sorted(events, key=lambda event: _order(next(iter(event.values())))):
        ((kind, bound),) = event.items()
        if kind == "introduced" and own >= _order(bound):
            within = True
        elif (kind == "fixed" and own >= _order(bound)) or (kind == "last_affected" and own > _order(bound)):
            within = False
    return within


def _order(version: str) -> Version:
    """Return what versions are compared by. npm's rules for texts like `-canary-a1b2` are not Python's: such a version
    counts as one before its release, whatever the text is."""
    try:
        return Version(version)
    except InvalidVersion:
        return Version(version.partition("-")[0] + ".dev0")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="make audit", description="Look for known vulnerabilities of dependencies.")
    parser.add_argument("--advisories", type=Path, metavar="FOLDER", help="records of OSV, instead of its server")
    parser.add_argument("--server", default=SERVER, help="a server with OSV's interface")
    parser.add_argument(
        "--accept", action="append", default=[], metavar="ID", help="a vulnerability that is known here"
    )
    parser.add_argument("--required", action="store_true", help="fail if the data cannot be read")
    options = parser.parse_args(arguments)
    folder = options.advisories
    if folder is not None and not folder.is_dir():
        parser.error(f"there is no folder {folder}")
    packages = sorted(pinned(), key=lambda package: package.purl)
    complete = True
    try:
        found = ask(options.server, packages) if folder is None else look_up(folder, packages)
    except NoData as reason:
        complete, found = False, reason.found
        _say(f"The audit of dependencies is NOT complete: {reason}.")
        _say('Without the internet, give a folder with records of OSV: make audit OPTIONS="--advisories FOLDER"')
    lines = [
        f"{package.purl}: {', '.join(left)}"
        for package in packages
        if (left := sorted(found.get(package, set()) - set(options.accept)))
    ]
    for line in lines:
        _say(line)
    if complete:
        _say(f"{len(packages)} pinned packages, {len(lines)} with known vulnerabilities")
    return EXIT_FOUND if lines or (options.required and not complete) else EXIT_OK


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
