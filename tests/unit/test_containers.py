"""Which servers the tests get: those in containers if asked for, and never without a word."""

from __future__ import annotations

import pytest
import yaml

from drover.embedded.postgres import SETTINGS
from tests import containers

pytestmark = pytest.mark.req("EV-10")


@pytest.mark.parametrize(("value", "asked"), [("1", True), ("yes", True), ("0", False), ("", False), (None, False)])
def test_containers_are_used_only_if_asked_for(monkeypatch, value, asked):
    monkeypatch.delenv(containers.WANTED, raising=False)
    if value is not None:
        monkeypatch.setenv(containers.WANTED, value)
    assert containers.wanted() == asked


def test_without_an_engine_a_run_that_asks_for_containers_ends_with_a_sentence(monkeypatch):
    def away():
        raise ConnectionError("connection refused")

    monkeypatch.setenv(containers.WANTED, "1")
    with pytest.raises(pytest.UsageError, match=r"no Docker engine answers at .*connection refused\. Start one, or"):
        containers.refuse_without_engine(away)
    containers.refuse_without_engine(lambda: None)


def test_a_run_that_does_not_ask_for_containers_asks_no_engine(monkeypatch):
    def never():
        raise AssertionError("nobody wants a container")

    monkeypatch.delenv(containers.WANTED, raising=False)
    containers.refuse_without_engine(never)


def test_the_images_are_those_that_are_deployed_unless_another_is_named(monkeypatch):
    monkeypatch.delenv("TEST_NATS_IMAGE", raising=False)
    services = yaml.safe_load((containers.ROOT / "deploy" / "compose.yaml").read_text())["services"]
    assert containers.image("nats-1", "TEST_NATS_IMAGE") == services["nats-1"]["image"]
    assert containers.image("nats-1", "TEST_NATS_IMAGE").startswith("nats:2")
    assert containers.image("postgres", "TEST_POSTGRES_IMAGE").startswith("postgres:18")
    monkeypatch.setenv("TEST_NATS_IMAGE", "nats:ours")
    assert containers.image("nats-1", "TEST_NATS_IMAGE") == "nats:ours"


def test_nats_in_a_container_syncs_each_write_and_has_both_accounts():
    known = containers.new_secrets()
    settings = containers.nats_settings(known)
    assert settings["jetstream"]["sync_interval"] == "always"
    assert settings["listen"] == "0.0.0.0:4222"
    nats = containers.Nats(31000, known)
    assert nats.url == f"nats://drover:{known.nats_password}@127.0.0.1:31000"
    assert nats.system_url == f"nats://sys:{known.nats_system_password}@127.0.0.1:31000"


def test_postgres_in_a_container_has_the_settings_of_the_embedded_one():
    command = containers.postgres_command()
    settings = {name for pair in command[2::2] for name in [pair.partition("=")[0]]}
    assert settings == set(SETTINGS) - {"listen_addresses", "port"}
    assert "fsync=on" in command
    server = containers.Postgres(31001, "secret")
    assert server.dsn == "postgresql://drover:secret@127.0.0.1:31001/drover"
    assert server.dsn_of("test_1") == "postgresql://drover:secret@127.0.0.1:31001/test_1"
