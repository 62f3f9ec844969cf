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
