"""Reads that wait for what was written before them as long as a busy machine needs. In production they are answered
after a second, with `Drover-Behind`: on a busy machine a test then would not find what it has just written."""

from __future__ import annotations

from typing import Final

import pytest

from drover.bus import commits
from drover.projection import newest
from drover.web import freshness

PATIENCE_S: Final = 30.0


@pytest.fixture(autouse=True)
def patient_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """For services in the process of the test. The bounds of production have unit tests of their own."""
    monkeypatch.setattr(commits, "SYNC_S", PATIENCE_S)
    monkeypatch.setattr(newest, "KNOWN_LONG_S", PATIENCE_S)
    monkeypatch.setattr(freshness, "SOFT_WAIT_S", PATIENCE_S)
    monkeypatch.setattr(freshness, "HARD_WAIT_S", PATIENCE_S)
