"""What lock files say about the packages in them."""

from __future__ import annotations

import json

import pytest

from tools.pins import Package, npm_pins, python_pins

REQUIREMENTS = """\
aiohttp==3.14.5 \\
    --hash=sha256:00
    # via
    #   -c requirements/runtime.txt
    #   drover (pyproject.toml)
    #   pywebpush
av==18.1.0 ; python_full_version < '3.12' \\
    --hash=sha256:00
    # via drover (pyproject.toml)
av==19.0.2 ; python_full_version >= '3.12' \\
    --hash=sha256:00
    # via drover (pyproject.toml)
frozenlist==1.8.0 \\
    --hash=sha256:00
    # via aiohttp
moto[s3]==5.2.0 \\
    --hash=sha256:00
    # via -r requirements/dev.in
responses==0.26.0
    # via moto[s3]
"""
LOCK = {
    "packages": {
        "": {"dependencies": {"react-dom": "19.3.1"}, "devDependencies": {"vite": "8.3.5"}},
        "node_modules/react-dom": {"version": "19.3.1", "integrity": "sha512-AA==", "license": "MIT"}
        | {"dependencies": {"scheduler": "^1"}, "peerDependencies": {"react": "^19", "canvas": "*"}},
        "node_modules/react": {"version": "19.3.1"},
        "node_modules/scheduler": {"version": "2.0.0"},
        "node_modules/react-dom/node_modules/scheduler": {"version": "1.0.0"},
        "node_modules/@scope/fast": {"name": "@scope/renamed", "version": "1.2.3", "dev": True},
        "node_modules/vite": {"version": "8.3.5", "dev": True, "dependencies": {"scheduler": "^2"}},
    }
}


def test_pins_of_python_have_their_versions_and_what_they_need(tmp_path):
    (tmp_path / "runtime.txt").write_text(REQUIREMENTS)
    pins = {(pin.package.name, pin.package.version): pin for pin in python_pins(tmp_path / "runtime.txt")}
    assert list(pins) == [
        ("aiohttp", "3.14.5"),
        ("av", "18.1.0"),
        ("av", "19.0.2"),
        ("frozenlist", "1.8.0"),
        ("moto", "5.2.0"),
        ("responses", "0.26.0"),
    ]
    assert [pin.package.name for pin in pins.values() if pin.direct] == ["aiohttp", "av", "av"]
    assert pins["aiohttp", "3.14.5"].needs == (Package("PyPI", "frozenlist", "1.8.0"),)
    assert pins["moto", "5.2.0"].needs == (Package("PyPI", "responses", "0.26.0"),)


def test_pins_of_npm_need_what_node_would_find(tmp_path):
    (tmp_path / "package-lock.json").write_text(json.dumps(LOCK))
    pins = {pin.package.name: pin for pin in npm_pins(tmp_path / "package-lock.json")}
    dom = pins["react-dom"]
    assert dom.direct and not dom.development
    assert (dom.license, dom.integrity) == ("MIT", "sha512-AA==")
    assert dom.needs == (Package("npm", "scheduler", "1.0.0"), Package("npm", "react", "19.3.1"))
    assert pins["vite"].needs == (Package("npm", "scheduler", "2.0.0"),)
    assert pins["vite"].development and not pins["vite"].direct
    assert pins["@scope/renamed"].package.version == "1.2.3"


@pytest.mark.parametrize(
    ("package", "purl"),
    [
        (Package("PyPI", "aiohttp", "3.14.5"), "pkg:pypi/aiohttp@3.14.5"),
        (Package("npm", "@scope/name", "1.0.0+a"), "pkg:npm/%40scope/name@1.0.0%2Ba"),
    ],
)
def test_a_package_url_is_as_the_specification_writes_it(package, purl):
    assert package.purl == purl
