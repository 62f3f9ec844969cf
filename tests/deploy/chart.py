"""The objects of the chart as helm renders them."""

from __future__ import annotations

from functools import cache
from typing import Final

import yaml

from tests.deploy.permitted_nats import DEPLOY
from tests.deploy.programs import output

CHART: Final = DEPLOY / "helm" / "drover"
NEWEST: Final = "1.37"
"""The newest version of Kubernetes of which the tests have the schemas."""


@cache
def rendered(*settings: str) -> list[dict]:
    flags = [flag for setting in settings for flag in ("--set", setting)]
    text = output("helm", "template", "farm", CHART, "--kube-version", f"{NEWEST}.0", *flags)
    return [one for one in yaml.safe_load_all(text) if one]


def of_kind(kind: str, *settings: str) -> dict[str, dict]:
    """By component; an object for the whole release has none."""
    found = [one for one in rendered(*settings) if one["kind"] == kind]
    return {one["metadata"]["labels"].get("app.kubernetes.io/component", ""): one for one in found}


def pods(*settings: str) -> dict[str, dict]:
    """The pod templates of all services and of the migration."""
    owners = of_kind("Deployment", *settings) | of_kind("Job", *settings)
    return {name: one["spec"]["template"] for name, one in owners.items()}


def container_of(pod: dict) -> dict:
    (only,) = pod["spec"]["containers"]
    return only


def environment_of(pod: dict) -> dict[str, str | None]:
    return {variable["name"]: variable.get("value") for variable in container_of(pod)["env"]}


def keys_of(pod: dict) -> dict[str, str]:
    """Which keys of the Secret a pod gets, by the file that it finds them in."""
    volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
    return {f"/run/secrets/drover/{item['path']}": item["key"] for item in volumes["secrets"]["secret"]["items"]}
