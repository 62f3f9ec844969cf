"""A short description of Grafana panels: query, unit, thresholds.

Grafana's own JSON needs forty lines for each panel, most of them the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

DATASOURCE: Final = {"type": "prometheus", "uid": "prometheus"}
COLUMNS: Final = 24
GREEN, YELLOW, RED = "green", "yellow", "red"


@dataclass(frozen=True)
class Query:
    expr: str
    legend: str = ""


@dataclass(frozen=True)
class Panel:
    title: str
    queries: tuple[Query, ...]
    unit: str = "short"
    help: str = ""
    width: int = 8
    height: int = 7
    kind: str = "timeseries"
    yellow: float | None = None
    red: float | None = None
    """`yellow` and `red`: thresholds, drawn as lines. If `yellow` is above `red`, low values are bad."""
    stacked: bool = False
    minimum: float | None = 0
    maximum: float | None = None
    mappings: dict[str, tuple[str, str]] = field(default_factory=dict)
    """For a value: the text to show instead of it, and its colour."""

    def json(self, id: int, x: int, y: int) -> dict[str, Any]:
        targets = [
            {
                "refId": chr(ord("A") + index),
                "datasource": DATASOURCE,
                "expr": query.expr,
                "legendFormat": query.legend or "__auto",
                "instant": self.kind in ("stat", "gauge", "bargauge"),
            }
            for index, query in enumerate(self.queries)
        ]
        return {
            "id": id,
            "type": self.kind,
            "title": self.title,
            "description": self.help,
            "datasource": DATASOURCE,
            "gridPos": {"x": x, "y": y, "w": self.width, "h": self.height},
            "targets": targets,
            "fieldConfig": {"defaults": self._defaults(), "overrides": []},
            "options": self._options(),
        }

    def _defaults(self) -> dict[str, Any]:
        defaults: dict[str, Any] = {"unit": self.unit, "thresholds": self._thresholds()}
        if self.minimum is not None:
            defaults["min"] = self.minimum
        if self.maximum is not None:
            defaults["max"] = self.maximum
        if self.mappings:
            shown = {value: {"text": text, "color": color} for value, (text, color) in self.mappings.items()}
            defaults["mappings"] = [{"type": "value", "options": shown}]
        if self.kind == "timeseries":
            defaults["custom"] = {
                "lineWidth": 1,
                "fillOpacity": 30 if self.stacked else 8,
                "showPoints": "never",
                "stacking": {"mode": "normal" if self.stacked else "none"},
                "thresholdsStyle": {"mode": "off" if self.red is None and self.yellow is None else "dashed"},
            }
        return defaults

    def _thresholds(self) -> dict[str, Any]:
        limits = [(limit, color) for limit, color in ((self.yellow, YELLOW), (self.red, RED)) if limit is not None]
        if len(limits) == 2 and limits[0][0] > limits[1][0]:
            (yellow, _), (red, _) = limits
            steps = [{"value": None, "color": RED}, {"value": red, "color": YELLOW}, {"value": yellow, "color": GREEN}]
        else:
            steps = [{"value": None, "color": GREEN}, *({"value": limit, "color": color} for limit, color in limits)]
        return {"mode": "absolute", "steps": steps}

    def _options(self) -> dict[str, Any]:
        if self.kind == "timeseries":
            return {
                "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"]},
                "tooltip": {"mode": "multi", "sort": "desc"},
            }
        return {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "background", "graphMode": "none"}


@dataclass(frozen=True)
class Row:
    title: str
    panels: tuple[Panel, ...]
    collapsed: bool = False


@dataclass(frozen=True)
class Dashboard:
    uid: str
    title: str
    help: str
    page: str
    """The screen of Drover's own dashboard that the Grafana dashboard links to."""
    rows: tuple[Row, ...]
    variables: dict[str, str] = field(default_factory=dict)
    """For each variable, by name: the metric that has a label with this name, whose values users choose from."""

    def json(self) -> dict[str, Any]:
        return {
            "uid": self.uid,
            "title": self.title,
            "description": self.help,
            "tags": ["drover"],
            "schemaVersion": 39,
            "version": 1,
            "editable": False,
            "graphTooltip": 1,
            "refresh": "15s",
            "time": {"from": "now-3h", "to": "now"},
            "timezone": "browser",
            "links": [
                {"type": "dashboards", "title": "Drover", "tags": ["drover"], "asDropdown": False, "keepTime": True},
                {"type": "link", "title": "Open in Drover", "url": f"$drover{self.page}", "icon": "external link"},
            ],
            "templating": {"list": [self._address(), *(self._variable(*one) for one in self.variables.items())]},
            "annotations": {"list": [_ALERTS]},
            "panels": self._panels(),
        }

    def _address(self) -> dict[str, Any]:
        """Make the variable with the address of Drover's own dashboard. Users can change it at the top of the page."""
        address = "https://localhost:8443"
        return {
            "name": "drover",
            "label": "Drover",
            "type": "textbox",
            "query": address,
            "current": {"text": address, "value": address},
            "options": [{"text": address, "value": address, "selected": True}],
        }

    def _variable(self, name: str, metric: str) -> dict[str, Any]:
        query = f"label_values({metric}, {name})"
        return {
            "name": name,
            "type": "query",
            "datasource": DATASOURCE,
            "query": {"query": query, "refId": name},
            "definition": query,
            "refresh": 2,
            "multi": True,
            "includeAll": True,
            "allValue": ".*",
            "current": {"text": ["All"], "value": ["$__all"]},
            "sort": 1,
        }

    def _panels(self) -> list[dict[str, Any]]:
        panels: list[dict[str, Any]] = []
        ids, y = count(1), 0
        for row in self.rows:
            place = {"x": 0, "y": y, "w": COLUMNS, "h": 1}
            head = {"id": next(ids), "type": "row", "title": row.title, "gridPos": place, "collapsed": row.collapsed}
            x, y, height = 0, y + 1, 0
            inner = []
            for panel in row.panels:
                if x + panel.width > COLUMNS:
                    x, y, height = 0, y + height, 0
                inner.append(panel.json(next(ids), x, y))
                x, height = x + panel.width, max(height, panel.height)
            y += height
            panels += [{**head, "panels": inner}] if row.collapsed else [{**head, "panels": []}, *inner]
        return panels


_ALERTS: Final = {
    "name": "Alerts",
    "datasource": DATASOURCE,
    "enable": True,
    "iconColor": RED,
    "expr": 'ALERTS{alertstate="firing", severity="critical"}',
    "titleFormat": "{{alertname}}",
}
