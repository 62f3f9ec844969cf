"""Starts that cannot be: one clear sentence, an exit code that means something, no traceback, nothing left behind."""

from __future__ import annotations

import json
import socket

import pytest

from drover.cli.exits import Exit
from tests.e2e.process import free_port, run_to_the_end


async def refused(tmp_path, *options, **environ):
    """Exit code and the one line that was written."""
    code, said = await run_to_the_end(
        "up", *options, output=tmp_path / "refused.log", environ=environ, from_scratch=True
    )
    assert "Traceback" not in said
    assert len(said.splitlines()) == 1, said
    return code, said


@pytest.mark.req("EV-10")
async def test_a_second_one_on_the_same_directory_is_told_who_holds_it(platform, http, tmp_path):
    port = str(free_port())
    code, said = await refused(tmp_path, "--data-dir", platform.data_dir, "--port", port)
    assert code == Exit.BUSY
    assert str(platform.data_dir) in said
    assert str(platform.pid) in said
    assert (await http.get("/readyz")).status == 200, "the first one never noticed"


async def test_a_taken_port_is_named(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, said = await refused(tmp_path, "--data-dir", tmp_path / "data", "--port", port)
    assert code == Exit.BUSY
    assert port in said
    assert "--port" in said


async def test_a_misspelt_setting_is_named_with_the_one_that_was_meant(tmp_path):
    data_dir = tmp_path / "data"
    options = ("--data-dir", data_dir, "--port", str(free_port()))
    code, said = await refused(tmp_path, *options, DROVER_LOG_LEVL="debug")
    assert code == Exit.CONFIGURATION
    assert "DROVER_LOG_LEVL" in said
    assert "DROVER_LOG_LEVEL?" in said
    assert not data_dir.exists()


async def test_servers_of_somebody_else_are_not_silently_ignored(tmp_path):
    options = ("--data-dir", tmp_path / "data", "--port", str(free_port()))
    code, said = await refused(tmp_path, *options, DROVER_NATS_URL="nats://127.0.0.1:4222")
    assert code != Exit.OK
    assert "DROVER_NATS_URL" in said


@pytest.mark.req("DI-15")
async def test_the_start_warns_about_names_of_env_worker_that_nobody_reads(tmp_path):
    with socket.socket() as taken:  # so that the start ends by itself, after the settings were read
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        options = ("--data-dir", tmp_path / "data", "--port", str(taken.getsockname()[1]))
        environ = {"SUPABASE_URL": "https://xxxx.supabase.co", "DROVER_LOG_FORMAT": "json"}
        code, said = await run_to_the_end("up", *options, output=tmp_path / "warned.log", environ=environ)
    warning = json.loads(said.splitlines()[0])
    assert (code, warning["level"]) == (Exit.BUSY, "warning")
    assert (warning["event"], warning["setting"]) == ("setting_not_read", "SUPABASE_URL")
    assert "NATS" in warning["why"]
