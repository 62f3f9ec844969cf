"""`--watch`: what is shown while the platform comes and goes."""

from __future__ import annotations

import json
import sys

import pytest
from rich.console import Console

from drover.cli.exits import Exit
from drover.cli.operations import watching

DENIED = (403, {"code": "42501", "message": "permission denied"}, {})


def page(phones):
    pc = dict.fromkeys(("online", "busy", "offline", "error"), 0)
    pc |= {"id": "PC-01", "devices": phones, "in_use": [], "slots": 20, "held_until": None}
    return (200, {"items": [pc], "next": None}, {})


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(watching, "WATCH_EVERY_S", 0.0)


def test_a_pipe_gets_a_document_a_line_and_a_platform_that_is_away_is_waited_for(double, drover):
    away = (500, {"error": "INTERNAL", "message": "Internal error"}, {})
    double.answers["/api/pcs"] = [page(1), away, away, page(2), DENIED]
    code, out, err = drover("pcs", "list", "--watch", "--json")
    assert [json.loads(line)[0]["devices"] for line in out.splitlines()] == [1, 2]
    assert err.count("Trying again") == 1
    assert code == Exit.FAILED, "a refusal is no reason to wait"


def test_a_terminal_keeps_the_last_table_and_says_why_it_is_old(double, drover, monkeypatch):
    def terminal():
        return Console(file=sys.stdout, force_terminal=True, width=80, markup=False, highlight=False)

    monkeypatch.setattr(watching, "console", terminal)
    away = (500, {"error": "INTERNAL", "message": "Internal error"}, {})
    double.answers["/api/pcs"] = [page(7), away, DENIED]
    _, out, _ = drover("pcs", "list", "--watch")
    assert "! Internal error." in out
    assert out.index("PC-01") < out.index("! Internal error.")
    assert out.endswith("\x1b[?25h"), "the cursor is shown again"


def test_a_watch_that_cannot_begin_ends_at_once(drover, monkeypatch, closed_port):
    monkeypatch.setenv("DROVER_URL", f"http://127.0.0.1:{closed_port}")
    monkeypatch.setenv("DROVER_KEY", "k")
    assert drover("pcs", "list", "--watch")[0] == Exit.UNREACHABLE


def test_a_pipe_gets_whole_lines_without_spaces_at_their_ends(double, drover):
    long = "PC-" + "0" * 120
    status, body, headers = page(1)
    body["items"][0]["id"] = long
    double.answers["/api/pcs"] = [(status, body, headers)]
    _, out, _ = drover("pcs", "list")
    assert long in out
    assert [line for line in out.splitlines() if line != line.rstrip()] == []
