"""The wheel in an environment of its own, far from the source: everything that is not Python came along."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import aiohttp
import pytest

from drover.testing.waiting import eventually
from tests.e2e.process import ends_with_us, free_port

ROOT = Path(__file__).parents[2]
DASHBOARD = ROOT / "services" / "dashboard" / "dist"
NOT_CODE = (".sql", ".md", ".json", ".txt", ".toml")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    if not (DASHBOARD / "index.html").exists():
        pytest.skip("the dashboard has not been built: `make dashboard`")
    folder = tmp_path_factory.mktemp("wheel")
    argv = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", folder, ROOT]
    subprocess.run(argv, check=True, cwd=folder)
    (built,) = folder.glob("drover-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The program `drover` in a new environment. What it depends on is that of this one; Drover itself is not."""
    folder = tmp_path_factory.mktemp("installed") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    install = ["install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run([sys.executable, "-m", "pip", "--python", python, *install], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    # A path in a .pth is searched, but the .pth files in there, among them that of an editable install, are not.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    where = subprocess.run(
        [python, "-c", "import drover.api; print(drover.api.__file__)"], check=True, capture_output=True, text=True
    )
    assert str(folder) in where.stdout
    return folder / "bin" / "drover"


def test_it_has_every_file_that_is_in_the_packages(wheel):
    inside = set(zipfile.ZipFile(wheel).namelist())
    for tree in (ROOT / "libs", ROOT / "services"):
        files = [path for path in (tree / "drover").rglob("*") if path.suffix in {".py", *NOT_CODE}]
        missing = {path.relative_to(tree).as_posix() for path in files} - inside
        assert missing == set()
    assert not [name for name in inside if "node_modules" in name or name.startswith(("tests/", "dashboard/"))]


def test_it_has_the_dashboard(wheel):
    inside = zipfile.ZipFile(wheel)
    for path in DASHBOARD.rglob("*"):
        if path.is_file():
            name = f"drover/api/dashboard/{path.relative_to(DASHBOARD).as_posix()}"
            assert inside.read(name) == path.read_bytes(), name


def test_it_has_the_list_of_packages(wheel):
    inside = zipfile.ZipFile(wheel)
    (name,) = (name for name in inside.namelist() if name.endswith(".dist-info/sboms/sbom.cdx.json"))
    assert inside.read(name) == (ROOT / "requirements" / "sbom.cdx.json").read_bytes()


@pytest.mark.slow
@pytest.mark.req("EV-01")
async def test_installed_elsewhere_the_platform_starts_and_shows_its_page(installed, tmp_path):
    port = free_port()
    data = tmp_path / "data"
    with (tmp_path / "up.log").open("wb") as log:
        argv = ends_with_us([installed, "up", "--data-dir", data, "--port", str(port)])
        up = subprocess.Popen(argv, cwd=tmp_path, stdout=log, stderr=log)  # noqa: ASYNC220 - it is not waited for here
    try:
        async with aiohttp.ClientSession() as session:

            async def page():
                try:
                    async with session.get(f"http://127.0.0.1:{port}/") as answer:
                        return answer.status == 200 and await answer.read()
                except aiohttp.ClientConnectionError:
                    assert up.poll() is None, (tmp_path / "up.log").read_text()
                    return None

            assert await eventually(page, 60.0, every_s=0.2) == (DASHBOARD / "index.html").read_bytes()
        argv = [installed, "doctor", "--data-dir", data]
        doctor = await asyncio.to_thread(subprocess.run, argv, capture_output=True, text=True, cwd=tmp_path)
        assert doctor.returncode == 0, doctor.stdout
        assert "0 fail" in doctor.stdout
    finally:
        up.terminate()
        assert up.wait(60) == 0, (tmp_path / "up.log").read_text()
