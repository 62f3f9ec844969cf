"""deploy/compose.yaml on a Docker engine: all containers become healthy, and the platform is used over HTTPS.

Only with `make test CONTAINERS=1`. It needs the images that the file names; that of Drover is built if it is missing.
"""

from __future__ import annotations

import json
import os
import shutil
import ssl
import subprocess
import sysconfig
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests import containers
from tests.deploy.compose import ALL
from tests.deploy.permitted_nats import DEPLOY
from tests.e2e.process import free_port

START_S = 900.0
"""For building the image and for all containers to become healthy."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(int(2 * START_S)),
    pytest.mark.skipif(not containers.wanted(), reason="starts containers: run it with CONTAINERS=1"),
]


class Project:
    """A copy of deploy/, set up as the pages say, under a name and on ports of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._environment = os.environ | {
            "COMPOSE_PROJECT_NAME": f"drover-test-{uuid4().hex[:8]}",
            "HTTPS_BIND": "127.0.0.1",
            "HTTPS_PORT": str(self.port),
            "NATS_PORT_1": str(free_port()),
        }

    def set_up(self) -> None:
        ours = shutil.ignore_patterns("secrets", "tls", ".env")
        shutil.copytree(DEPLOY, self.folder, ignore=ours)
        subprocess.run([self.folder / "setup.sh", "single", "localhost"], check=True, capture_output=True)

    def compose(self, *arguments: str, file: Path | None = None) -> str:
        program = Path(sysconfig.get_path("scripts")) / "docker-compose"
        done = subprocess.run(
            [program, "-f", file or self.folder / "compose.yaml", *arguments],
            capture_output=True,
            text=True,
            timeout=START_S,
            env=self._environment,
        )
        assert done.returncode == 0, f"docker-compose {' '.join(arguments)}:\n{done.stdout}{done.stderr}"
        return done.stdout

    def request(self, method: str, path: str, key: str, body: object = None) -> tuple[int, object]:
        request = urllib.request.Request(
            f"https://localhost:{self.port}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"apikey": key, "Content-Type": "application/json", "Prefer": "return=representation"},
        )
        trust = ssl.create_default_context(cafile=self.folder / "tls" / "ca.crt")
        with urllib.request.urlopen(request, context=trust, timeout=30) as answer:
            text = answer.read()
            return answer.status, json.loads(text) if text else None


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    import docker

    if shutil.which("openssl") is None:
        pytest.skip("openssl is missing: it makes the certificates")
    project = Project(tmp_path / "deploy")
    project.set_up()
    image = json.loads(project.compose("config", "--format", "json"))["services"]["api"]["image"]
    if not docker.from_env().images.list(name=image):
        project.compose("build", "migrate", file=DEPLOY / "compose.yaml")
    try:
        yield project
    finally:
        project.compose("--profile", "*", "down", "--volumes", "--timeout", "20")


@pytest.mark.req("EV-08", "EV-10")
def test_the_compose_file_starts_and_is_used(project):
    project.compose("up", "--detach", "--wait", "--no-build")
    key = project.compose("run", "--rm", "--no-TTY", "tools", "key", "create", "service_role", "--name", "test").strip()

    phone = {"serial_number": "COMPOSE0001", "group_id": "P1-G1", "pc_id": "PC-01"}
    status, rows = project.request("POST", "/rest/v1/devices", key, phone)
    assert status == 201
    assert project.request("PATCH", "/rest/v1/devices?serial_number=eq.COMPOSE0001", key, {})[0] in (200, 204)
    status, found = project.request("GET", "/rest/v1/devices?serial_number=eq.COMPOSE0001&select=id,pc_id", key)
    assert (status, found) == (200, [{"id": rows[0]["id"], "pc_id": "PC-01"}])

    told = json.loads(project.compose("run", "--rm", "--no-TTY", "tools", "status", "--json"))
    assert told
    running = [json.loads(line) for line in project.compose("ps", "--format", "json").splitlines()]
    services = {name for name, one in ALL.items() if not one.get("profiles") and name != "migrate"}
    assert {one["Service"] for one in running if one["State"] == "running"} == services
