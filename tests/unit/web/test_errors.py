"""Errors: every code has a status, every body the four keys."""

from __future__ import annotations

import json

import pytest
from structlog.testing import capture_logs

from drover.bus.messages import Rejected
from drover.domain.errors import Code
from drover.web.errors import STATUS, ApiError, invalid, refused


def codes() -> list[str]:
    return [value for name, value in vars(Code).items() if name.isupper()]


def test_every_code_of_the_domain_has_a_status():
    assert STATUS.keys() == set(codes())


@pytest.mark.parametrize("code", codes())
def test_a_body_has_the_four_keys_and_where_waiting_helps_it_says_how_long(code):
    error = refused(Rejected(code, "no", {"field": "x", "value": 1}), "trace")
    response = error.response()
    body = json.loads(response.body)
    assert list(body) == ["code", "message", "details", "hint"]
    assert (response.status, body["code"]) == (STATUS[code], code)
    assert ("Retry-After" in response.headers) == (response.status in (429, 503))


def test_what_went_wrong_inside_is_not_told_outside():
    error = refused(Rejected(Code.INTERNAL, "KeyError: 'secret'"), "abc")
    assert (error.message, error.details) == ("Internal error", {"trace_id": "abc"})


def test_a_code_that_nobody_knows_is_500_and_in_our_log():
    with capture_logs() as logged:
        assert refused(Rejected("NOVEL_CODE", "x"), "abc").code == "INTERNAL"
        assert refused(Rejected(Code.CONFLICT, "x"), "abc").status == 409
    assert [(entry["log_level"], entry["code"]) for entry in logged] == [("error", "NOVEL_CODE")]


def test_how_long_to_wait_can_be_told_better():
    assert ApiError(503, Code.UNAVAILABLE, "x", headers={"Retry-After": "7"}).headers == {"Retry-After": "7"}
    assert ApiError(429, Code.RATE_LIMITED, "x").headers == {"Retry-After": "60"}
    assert ApiError(409, Code.STALE_ATTEMPT, "x").headers == {}


@pytest.mark.parametrize("value", [10**400, -(10**30), "\ud800"])
def test_a_value_that_json_cannot_hold_does_not_break_the_answer(value):
    response = invalid("no", field="x", value=value).response()
    assert json.loads(response.body)["details"]["field"] == "x"


def test_errors_carry_data():
    error = ApiError(404, Code.NOT_FOUND, "Device not found")
    assert (error.status, error.code, error.message, error.details) == (404, "NOT_FOUND", "Device not found", None)
