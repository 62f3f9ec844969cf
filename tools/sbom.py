"""Generates `requirements/sbom.cdx.json`, the list of all packages that are shipped: `python -m tools.sbom`.

The format is CycloneDX, a standard for such lists (SBOM, software bill of materials). Everything comes from the files
in which packages are pinned, so the same pins give the same bytes. The wheel has the list in its folder `sboms`
(PEP 770), and so has the image. Packages that only build and test Drover are not in it.
"""

from __future__ import annotations

import tomllib
from base64 import b64decode
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

import msgspec

from tools.pins import Package, Pin, npm_pins, python_pins

ROOT: Final = Path(__file__).parents[1]
FILE: Final = Path("requirements/sbom.cdx.json")
SCHEMA: Final = "http://cyclonedx.org/schema/bom-1.6.schema.json"
PART: Final = "drover:part"
"""The name of the property that says what a package is in: the image, an installation for `drover up`, the
dashboard."""


def shipped() -> dict[str, list[Pin]]:
    """Return the packages of each part that is given to users."""
    dashboard = npm_pins(ROOT / "services" / "dashboard" / "package-lock.json")
    return {
        "image": python_pins(ROOT / "requirements" / "image.txt"),
        "up": python_pins(ROOT / "requirements" / "runtime.txt"),
        "dashboard": [pin for pin in dashboard if not pin.development],
    }


def sbom_json() -> bytes:
    document = _document(shipped())
    serial = uuid5(NAMESPACE_URL, msgspec.json.encode(document).decode())
    numbered = {"$schema": SCHEMA, "bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{serial}"}
    return msgspec.json.format(msgspec.json.encode(numbered | document), indent=2) + b"\n"


def _document(parts: dict[str, list[Pin]]) -> dict[str, Any]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    drover = Package("PyPI", project["name"], project["version"])
    pins = [pin for part in parts.values() for pin in part]
    by_package = {pin.package: pin for pin in pins}
    places = {
        package: [name for name, part in parts.items() if any(pin.package == package for pin in part)]
        for package in by_package
    }
    edges: dict[Package, set[Package]] = {package: set() for package in by_package}
    for pin in pins:  # an extra of the image may add a dependency to a package of both
        edges[pin.package] |= {needed for needed in pin.needs if needed in by_package}
    edges[drover] = {pin.package for pin in pins if pin.direct}
    return {
        "version": 1,
        "metadata": {
            "component": _component(drover, license=project["license"]) | {"type": "application"},
            "properties": [{"name": "drover:generated-by", "value": "make sbom"}],
        },
        "components": [
            _component(package, license=pin.license, integrity=pin.integrity, places=places[package])
            for package, pin in sorted(by_package.items(), key=lambda item: item[0].purl)
        ],
        "dependencies": [
            {"ref": package.purl, "dependsOn": sorted(needed.purl for needed in edges[package])}
            for package in sorted(edges, key=lambda package: package.purl)
        ],
    }


def _component(
    package: Package, *, license: str | None = None, integrity: str | None = None, places: Iterable[str] = ()
) -> dict[str, Any]:
    described: dict[str, Any] = {"type": "library", "bom-ref": package.purl}
    described |= {"name": package.name, "version": package.version, "purl": package.purl}
    if license is not None:
        described["licenses"] = [{"expression": license}]
    if integrity is not None:
        algorithm, _, digest = integrity.partition("-")
        described["hashes"] = [{"alg": algorithm.upper().replace("SHA", "SHA-"), "content": b64decode(digest).hex()}]
    if places:
        described["properties"] = [{"name": PART, "value": place} for place in places]
    return described


if __name__ == "__main__":
    (ROOT / FILE).write_bytes(sbom_json())
