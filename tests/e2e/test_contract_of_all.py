"""Requests made up from the OpenAPI document to a whole platform: `make fuzz` in short."""

from __future__ import annotations

import pytest

from tests.e2e.up import Platform
from tests.fuzz.contract import Interviewer
from tests.fuzz.target import ENVIRON, Target

EXAMPLES = 1
"""Of each mode for each operation: some 250 requests. `make fuzz` sends more, and others in every run."""


@pytest.mark.slow
@pytest.mark.req("EV-09")
def test_every_operation_answers_made_up_requests_as_the_document_says(background_loop, tmp_path):
    platform = Platform(tmp_path / "data", environ=ENVIRON)
    try:
        target = Target(platform)
        background_loop.run(target.prepare())
        interviewer = Interviewer(target, lambda: background_loop.run(target.callers()))
        findings = interviewer.ask_all(EXAMPLES)
        assert "\n\n".join(f"{key}\n{shown}" for key, shown in findings.faults.items()) == ""
        assert findings.statuses[200] > 50 and findings.statuses[400] > 50
        assert target.faults() == []
    finally:
        background_loop.run(platform.end())
