"""What an expression of PromQL speaks of: metrics with the labels asked of them, and labels that it groups by."""

from __future__ import annotations

import re

from tools.metrics_document import all_metrics

FOREIGN = {
    # Of Prometheus itself, of the kubelet.
    "up": {"job", "instance"},
    "kubelet_volume_stats_available_bytes": {"persistentvolumeclaim"},
    "kubelet_volume_stats_capacity_bytes": {"persistentvolumeclaim"},
    "ALERTS": {"alertname", "alertstate", "severity"},
}
ALWAYS = {"job", "instance", "role"}
"""Labels that scraping adds: deploy/prometheus/prometheus.yaml."""
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"')
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_SELECTOR = re.compile(r"\b([a-zA-Z_:][\w:]*)\b(?!\s*\()\s*(\{[^}]*\})?")
_MATCHER = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
_WORDS = {"and", "or", "unless", "bool", "offset", "by", "without", "on", "ignoring", "group_left", "group_right", "le"}
_DURATION = re.compile(r"\[[^\]]*\]|\b\d+(?:\.\d+)?(?:[smhdwy]|ms)?\b")


def shown() -> dict[str, set[str]]:
    """Every series that somebody shows, with its labels."""
    series = {name: set(labels) for name, labels in FOREIGN.items()}
    for metric in all_metrics():
        for name in metric.series:
            series[name] = {*metric.labels, *ALWAYS, *(["le"] if name.endswith("_bucket") else [])}
    return series


def asked(expression: str) -> dict[str, set[str]]:
    """The series that it asks for, with the labels that it asks of each."""
    bare = _GROUPING.sub(" ", _STRINGS.sub('""', expression))
    found: dict[str, set[str]] = {}
    for match in _SELECTOR.finditer(_DURATION.sub(" ", bare)):
        name, matchers = match.groups()
        if name not in _WORDS:
            found.setdefault(name, set()).update(_MATCHER.findall(matchers or ""))
    return found


def grouped(expression: str) -> set[str]:
    """The labels that it groups or joins by."""
    lists = _GROUPING.findall(expression)
    return {label.strip() for labels in lists for label in labels.split(",") if label.strip()}


def faults(expression: str, series: dict[str, set[str]]) -> list[str]:
    """What it asks for and nobody shows."""
    found = []
    known: set[str] = set()
    for name, labels in asked(expression).items():
        if name not in series:
            found.append(f"nobody shows {name}")
            continue
        known |= series[name]
        found += [f"{name} has no label {label}" for label in sorted(labels - series[name])]
    found += [f"none of its metrics has a label {label}" for label in sorted(grouped(expression) - known)]
    return found
