"""Where a log is put back: what is said of a database that does not answer."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest

from drover.cli import archive_target
from drover.cli.archive_target import place_of
from drover.cli.errors import PostgresUnreachable

pytestmark = pytest.mark.req("EV-06")


@pytest.fixture(autouse=True)
def only_nats_answers(monkeypatch):
    @asynccontextmanager
    async def nats_of(target):
        yield object()

    @asynccontextmanager
    async def postgres_of(target):
        raise PostgresUnreachable("no answer in time", target.source, target.advice("DROVER_POSTGRES_URL"))
        yield

    monkeypatch.setattr(archive_target, "nats_of", nats_of)
    monkeypatch.setattr(archive_target, "postgres_of", postgres_of)
    monkeypatch.setenv("DROVER_NATS_URL", "nats://127.0.0.1:1")
    monkeypatch.setenv("DROVER_POSTGRES_URL", "postgresql://nobody@127.0.0.1:1/nothing")
    monkeypatch.setenv("DROVER_JWT_SECRETS", "a secret of the tests and long enough for it")


async def test_a_log_is_restored_without_a_database_and_that_is_said(capsys):
    async with place_of(None, forget=False):
        pass
    assert "it is not known whether its tables" in capsys.readouterr().err


async def test_read_models_are_not_forgotten_in_silence_where_the_database_is_away():
    with pytest.raises(PostgresUnreachable):
        async with place_of(None, forget=True):
            pass
