"""Errors: every code has a status, every body the four keys."""

from __future__ import annotations

import json

import pytest
from structlog.testing import capture_logs

from drover.bus.messages import LOG_FULL, Rejected
from drover.domain.errors import Code
from drover.web.errors import STATUS, ApiError, invalid, refused

FOUR = ("code", "message", "details", "hint")


def codes() -> list[str]:
    return [value for name, value in vars(Code).items() if name.isupper()]


def test_every_code_of_the_domain_has_a_status():
    assert STATUS.keys() == set(codes())


@pytest.mark.parametrize("code", codes())
def test_a_body_has_the_four_keys_and_where_waiting_helps_it_says_how_long(code):
    error = refused(Rejected(code, "no", {"field": "x", "value": 1}), "trace")
    response = error.response()
    body = json.loads(response.body)
    assert list(body) == list(FOUR)
    assert (response.status, body["code"]) == (STATUS[code], code)
    assert ("Retry-After" in response.headers) == (response.status in (429, 503))


@pytest.mark.req("SY-09")
@pytest.mark.parametrize("path", ["/api/status", "/auth/v1/token"])
def test_under_api_and_auth_a_body_is_error_and_message_and_what_helps(path):
    bare = json.loads(ApiError(404, "NOT_FOUND", "No such thing").response(path).body)
    assert bare | {"error_code": ""} == {"error": "NOT_FOUND", "message": "No such thing", "error_code": ""}
    assert bare.get("error_code") == ("not_found" if path.startswith("/auth") else None)
    body = json.loads(invalid("no", field="x", value=1).response(path).body)
    assert (body["error"], body["details"]) == ("VALIDATION_ERROR", {"field": "x", "value": 1})
    assert "code" not in body


@pytest.mark.parametrize("path", ["/rest/v1/jobs", "/agent/v1/connect", "/", "/apiary", "/authors"])
def test_everywhere_else_a_body_has_the_four_keys(path):
    assert list(json.loads(ApiError(404, "NOT_FOUND", "x").response(path).body)) == list(FOUR)


def test_where_the_users_wrote_other_words_under_api_those_are_said_there():
    error = ApiError(401, "UNAUTHORIZED", "Invalid API key", plain=("INVALID_TOKEN", "Invalid authentication token"))
    assert json.loads(error.response("/rest/v1/jobs").body)["message"] == "Invalid API key"
    assert json.loads(error.response("/api/status").body) == {
        "error": "INVALID_TOKEN",
        "message": "Invalid authentication token",
    }


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


@pytest.mark.req("YR-12")
def test_a_full_log_is_a_503_that_asks_for_a_longer_pause():
    """Agents and Supabase's clients repeat a 503; somebody has to make room first."""
    error = refused(LOG_FULL, None)
    assert (error.status, error.code, error.headers) == (503, Code.LOG_FULL, {"Retry-After": "15"})
    assert ApiError(409, Code.STALE_ATTEMPT, "x").headers == {}


@pytest.mark.parametrize("value", [10**400, -(10**30), "\ud800"])
def test_a_value_that_json_cannot_hold_does_not_break_the_answer(value):
    response = invalid("no", field="x", value=value).response()
    assert json.loads(response.body)["details"]["field"] == "x"


def test_errors_carry_data():
    error = ApiError(404, Code.NOT_FOUND, "Device not found")
    assert (error.status, error.code, error.message, error.details) == (404, "NOT_FOUND", "Device not found", None)
