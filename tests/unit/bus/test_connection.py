"""Who a client says it is, to whichever server of a cluster."""

from __future__ import annotations

import pytest

from drover.bus.connection import _user_of


@pytest.mark.parametrize(
    ("servers", "user"),
    [
        (["nats://drover:secret@a:4222"], ("drover", "secret")),
        (["nats://drover:secret@a:4222", "nats://drover:secret@b:4222"], ("drover", "secret")),
        (["tls://drover:p%40ss%2C%25@a:4222"], ("drover", "p@ss,%")),
        (["nats://drover:secret@a:4222", "nats://b:4222"], ("drover", "secret")),
        (["nats://drover:secret@a:4222", "nats://other:secret@b:4222"], (None, None)),
        (["nats://token@a:4222"], (None, None)),
        (["nats://a:4222", "nats://b:4222"], (None, None)),
    ],
)
def test_one_user_holds_for_the_whole_cluster_and_anything_else_stays_with_its_address(servers, user):
    assert _user_of(servers) == user
