"""`deploy/compose.yaml`, as it is written and as Docker Compose understands it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import yaml

from tests.deploy.permitted_nats import DEPLOY
from tests.deploy.programs import output

TEXT: Final = (DEPLOY / "compose.yaml").read_text()
FILE: Final = yaml.safe_load(TEXT)
ALL: Final = FILE["services"]
OURS: Final = {name: one for name, one in ALL.items() if "drover" in one["image"]}


def resolved_in(folder: Path, *flags: str) -> dict[str, Any]:
    """The project as Docker Compose understands it: merged, with its variables filled in. It refuses mistakes."""
    return json.loads(output("docker-compose", "-f", folder / "compose.yaml", *flags, "config", "--format", "json"))


def mounted(service: dict[str, Any]) -> dict[str, str]:
    """The secrets of a resolved service, with the file in which the container finds each."""
    return {one["source"]: one.get("target") or f"/run/secrets/{one['source']}" for one in service.get("secrets", ())}


def set_up(folder: Path, profile: str = "single", *names: str) -> str:
    """Run `setup.sh` in a copy of `deploy`; return what it said. A second time, it keeps what is there."""
    for name in ("setup.sh", "make-certificates.sh", "compose.yaml"):
        shutil.copy(DEPLOY / name, folder)
    (folder / "nats").mkdir(exist_ok=True)
    shutil.copy(DEPLOY / "nats" / "users.conf", folder / "nats")
    done = subprocess.run([folder / "setup.sh", profile, *names], check=True, capture_output=True, text=True)
    return done.stdout + done.stderr


def given_to(folder: Path, container: str) -> dict[str, str]:
    """All that a container gets from the project in this folder: its variables, with files where they are here."""
    project = resolved_in(folder, "--profile", "*")
    service = project["services"][container]
    files = {path: project["secrets"][name]["file"] for name, path in mounted(service).items()}
    return {name: files.get(value, value) for name, value in service["environment"].items()}
