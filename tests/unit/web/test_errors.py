"""Errors: every code has a status, every body the four keys."""

from __future__ import annotations

import json

import pytest

from drover.bus.messages import Rejected
from drover.domain.errors import Code
from drover.web.errors import STATUS, ApiError, invalid, refused


def codes() -> list[str]:
    return [value for name, value in vars(Code).items() if name.isupper()]


def test_every_code_of_the_domain_has_a_status():
    assert STATUS.keys() == set(codes())


@pytest.mark.parametrize("code", codes())
def test_a_body_has_the_four_keys_and_503_says_when_to_come_back(code):
    error = refused(Rejected(code, "no", {"field": "x", "value": 1}), "trace")
    response = error.response()
    body = json.loads(response.body)
    assert list(body) == ["code", "message", "details", "hint"]
    assert (response.status, body["code"]) == (STATUS[code], code)
    assert ("Retry-After" in response.headers) == (response.status == 503)


def test_what_went_wrong_inside_is_not_told_outside():
    error = refused(Rejected(Code.INTERNAL, "KeyError: 'secret'"), "abc")
    assert (error.message, error.details) == ("Internal error", {"trace_id": "abc"})
    assert refused(Rejected("NOVEL_CODE", "x"), "abc").status == 500


@pytest.mark.parametrize("value", [10**400, -(10**30), "\ud800"])
def test_a_value_that_json_cannot_hold_does_not_break_the_answer(value):
    response = invalid("no", field="x", value=value).response()
    assert json.loads(response.body)["details"]["field"] == "x"


def test_errors_carry_data():
    error = ApiError(404, Code.NOT_FOUND, "Device not found")
    assert (error.status, error.code, error.message, error.details) == (404, "NOT_FOUND", "Device not found", None)
