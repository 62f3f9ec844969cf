"""The id of a command: the same for a repeat, another for anything else."""

from __future__ import annotations

import pytest

from drover.web.errors import ApiError
from drover.web.idempotency import command_id


def scope(key: str = "k", principal: str = "anon", route: str = "r", target: str = "", body: bytes = b"1") -> str:
    return command_id(key, principal=principal, route=route, target=target, body=body).split("~")[0]


def test_the_same_key_means_the_same_command_for_one_principal_route_and_target_only():
    scopes = {
        scope(principal=principal, route=route, target=target)
        for principal in ("anon", "device:1", "device:2", "service_role")
        for route in ("POST devices", "PATCH job_assignments")
        for target in ("", "id=eq.1", "id=eq.2")
    }
    assert len(scopes) == 4 * 2 * 3
    assert scope() == scope()
    assert scope() == scope(body=b"2")
    assert scope(key="k") != scope(key="K")


def test_the_body_is_told_apart():
    ids = {command_id("k", principal="anon", route="r", body=body) for body in (b"1", b"2", b"1")}
    assert len(ids) == 2


def test_without_a_key_every_command_is_another():
    assert len({command_id(None, principal="anon", route="r", body=b"") for _ in range(10)}) == 10


@pytest.mark.parametrize("key", ["", "x" * 256, "a\nb", "é"])
def test_a_bad_key_is_a_validation_error(key):
    with pytest.raises(ApiError) as caught:
        command_id(key, principal="anon", route="r", body=b"")
    assert (caught.value.status, caught.value.details["field"]) == (400, "Idempotency-Key")
