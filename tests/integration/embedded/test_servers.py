"""The embedded servers while their parent lives: start, stop, restart, death, ports, and what a failed start says."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import stat

import asyncpg
import nats as nats_client
import psutil
import pytest

from drover.domain.backoff import Backoff
from drover.embedded import supervision
from drover.embedded.errors import DataDirectoryUnusable, PortTaken, ServerKeepsDying, ServerStartFailed
from drover.embedded.nats import PORTS, nats_server
from drover.embedded.postgres import SOCKET_NAME, SOCKET_PATH_BYTES_MAX, postgres_server, socket_directory
from drover.testing.waiting import eventually

pytestmark = pytest.mark.req("EV-10")


async def store(url: str, text: str) -> None:
    async with await nats_client.connect(url) as client:
        await client.jetstream().add_stream(name="KEPT", subjects=["kept"])
        await client.jetstream().publish("kept", text.encode())


async def stored(url: str) -> str:
    async with await nats_client.connect(url) as client:
        return (await client.jetstream().get_last_msg("KEPT", "kept")).data.decode()


async def execute(dsn: str, statement: str):
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


async def kill_and_wait_for_the_restart(server: supervision.SupervisedServer) -> None:
    killed = server.pid
    await server.kill()
    await eventually(lambda: server.pid not in (killed, 0))


async def server_variables(system_url: str) -> dict:
    async with await nats_client.connect(system_url) as client:
        return json.loads((await client.request("$SYS.REQ.SERVER.PING.VARZ", b"", timeout=5)).data)["data"]


async def test_servers_that_were_stopped_leave_no_process(data_dir, processes_of):
    async with nats_server(data_dir) as log, postgres_server(data_dir) as database:
        running = processes_of()
        assert any(f"{log.pid} " in line for line in running)
        assert any(f"{database.pid} " in line for line in running)
    assert processes_of() == []


async def test_both_servers_keep_their_data_over_a_stop_and_a_start(data_dir):
    async with nats_server(data_dir) as log, postgres_server(data_dir) as database:
        first_port = log.port
        await store(log.url, "still here")
        await execute(database.dsn, "CREATE TABLE kept AS SELECT 'still here' AS text")
    async with nats_server(data_dir) as log, postgres_server(data_dir) as database:
        assert log.port == first_port
        assert await stored(log.url) == "still here"
        assert await execute(database.dsn, "SELECT text FROM kept") == "still here"


async def test_nats_syncs_every_write_and_listens_on_loopback_alone(own_nats):
    variables = await server_variables(own_nats.system_url)
    assert variables["jetstream"]["config"]["sync_always"] is True
    assert variables["host"] == "127.0.0.1"
    assert variables["max_payload"] == 8 * 1024 * 1024
    assert "http_port" not in variables or variables["http_port"] == 0


@pytest.mark.control
async def test_an_unsynced_nats_can_be_had_and_says_so(data_dir):
    async with nats_server(data_dir, sync_always=False) as log:
        assert not (await server_variables(log.system_url))["jetstream"]["config"].get("sync_always")


async def test_services_cannot_use_the_system_account(own_nats):
    async with await nats_client.connect(own_nats.url) as client:
        with pytest.raises((nats_client.errors.TimeoutError, nats_client.errors.NoRespondersError)):
            await client.request("$SYS.REQ.SERVER.PING.VARZ", b"", timeout=0.2)


async def test_nats_without_a_password_is_refused(own_nats):
    with pytest.raises(nats_client.errors.Error, match="Authorization"):
        await nats_client.connect(f"nats://127.0.0.1:{own_nats.port}", allow_reconnect=False)


async def test_nats_that_is_killed_comes_back_on_its_port_with_its_data(own_nats):
    await store(own_nats.url, "acknowledged")
    before = (own_nats.port, own_nats.pid)
    await kill_and_wait_for_the_restart(own_nats)
    assert own_nats.port == before[0]
    assert own_nats.pid != before[1]
    assert await stored(own_nats.url) == "acknowledged"


async def test_postgres_that_is_killed_comes_back_with_its_data(own_postgres):
    dsn, pid = own_postgres.dsn, own_postgres.pid
    await execute(dsn, "CREATE TABLE kept AS SELECT 'committed' AS text")
    await kill_and_wait_for_the_restart(own_postgres)
    assert own_postgres.dsn == dsn
    assert own_postgres.pid != pid
    assert await execute(dsn, "SELECT text FROM kept") == "committed"


async def test_a_backend_that_computes_on_after_the_death_of_postgres_does_not_keep_it_down(own_postgres):
    busy = await asyncpg.connect(own_postgres.dsn)
    backend = busy.get_server_pid()
    computing = asyncio.create_task(busy.execute("DO $$ BEGIN LOOP END LOOP; END $$"))
    while await execute(own_postgres.dsn, f"SELECT state FROM pg_stat_activity WHERE pid = {backend}") != "active":
        pass
    await kill_and_wait_for_the_restart(own_postgres)
    with pytest.raises((asyncpg.PostgresError, ConnectionError)):
        await computing
    assert await execute(own_postgres.dsn, "SELECT 1") == 1


async def test_a_client_of_nats_reconnects_by_itself_over_a_restart(own_nats):
    back = asyncio.Event()

    async def reconnected() -> None:
        back.set()

    client = await nats_client.connect(own_nats.url, reconnected_cb=reconnected, reconnect_time_wait=0.05)
    await own_nats.restart()
    await back.wait()
    await client.close()


@pytest.mark.parametrize("mode", ["fast", "immediate"])
async def test_postgres_restarts_in_either_mode_with_its_data(own_postgres, mode):
    await execute(own_postgres.dsn, "CREATE TABLE kept AS SELECT 'committed' AS text")
    await own_postgres.restart(mode)
    assert await execute(own_postgres.dsn, "SELECT text FROM kept") == "committed"
    assert ("not properly shut down" in own_postgres.log_path.read_text()) == (mode == "immediate")


async def test_a_server_that_was_stopped_stays_down_until_it_is_started(own_nats):
    await own_nats.stop()
    assert own_nats.pid == 0
    with pytest.raises(OSError):
        await asyncio.open_connection("127.0.0.1", own_nats.port)
    await own_nats.start()
    await store(own_nats.url, "up again")


async def test_a_server_whose_guard_was_killed_is_replaced_and_not_doubled(own_nats):
    server, guard = own_nats.pid, own_nats.guard_pid
    os.kill(guard, signal.SIGKILL)
    await eventually(lambda: own_nats.pid not in (server, 0))
    assert not psutil.pid_exists(server) or psutil.Process(server).status() == psutil.STATUS_ZOMBIE
    await store(own_nats.url, "one server")


async def test_a_server_that_keeps_dying_is_given_up_with_its_last_words(own_nats, monkeypatch):
    monkeypatch.setattr(supervision, "RESTART", Backoff(first_s=0.001, max_s=0.016))
    watch = asyncio.create_task(own_nats.wait_failed())
    for _ in range(supervision.DEATHS_MAX):
        await kill_and_wait_for_the_restart(own_nats)
    assert not watch.done()
    await own_nats.kill()
    with pytest.raises(ServerKeepsDying) as caught:
        await watch
    assert caught.value.deaths == supervision.DEATHS_MAX + 1
    assert "Server is ready" in caught.value.log_tail


async def test_a_remembered_port_that_is_taken_gives_way_to_another(data_dir):
    async with nats_server(data_dir) as log:
        first = log.port
    with socket.create_server(("127.0.0.1", first)):
        async with nats_server(data_dir) as log:
            assert log.port != first
            assert log.port in PORTS
            await store(log.url, "elsewhere")


async def test_a_port_that_was_asked_for_and_is_taken_is_an_error_that_names_it(data_dir, processes_of):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortTaken, match=f"Port {port} .* is taken .*choose another port") as caught:
            async with nats_server(data_dir, port=port):
                pass
    assert caught.value.port == port
    assert processes_of() == []


async def test_nats_does_not_move_to_another_port_when_it_is_restarted(own_nats):
    port = own_nats.port
    await own_nats.stop()
    with socket.create_server(("127.0.0.1", port)), pytest.raises(PortTaken):
        await own_nats.start()
    await own_nats.start()
    assert own_nats.port == port


async def test_a_start_that_fails_shows_what_the_server_said(data_dir, processes_of):
    async with postgres_server(data_dir):
        pass
    (data_dir / "postgres" / "data" / "postgresql.conf").write_text("no_such_setting = 1\n")
    with pytest.raises(ServerStartFailed, match="no_such_setting") as caught:
        async with postgres_server(data_dir):
            pass
    assert caught.value.log_path == data_dir / "postgres" / "postgres.log"
    assert processes_of() == []


async def test_data_of_another_postgres_version_is_refused_with_advice(data_dir):
    async with postgres_server(data_dir):
        pass
    (data_dir / "postgres" / "data" / "PG_VERSION").write_text("17\n")
    with pytest.raises(DataDirectoryUnusable, match=r"PostgreSQL 17.* move .* away"):
        async with postgres_server(data_dir):
            pass


async def test_an_initdb_that_was_cut_short_is_done_again(data_dir):
    unfinished = data_dir / "postgres" / "data.unfinished"
    unfinished.mkdir(parents=True)
    (unfinished / "PG_VERSION").write_text("18\n")
    async with postgres_server(data_dir) as database:
        assert await execute(database.dsn, "SELECT current_database()") == "drover"
    assert not unfinished.exists()


async def test_postgres_is_reached_with_its_password_only_and_sorts_by_code_point(postgres_dsn, postgres):
    assert await execute(postgres_dsn, "SELECT 'Z' < 'a'") is True
    assert await execute(postgres_dsn, "SHOW server_encoding") == "UTF8"
    assert await execute(postgres_dsn, "SHOW listen_addresses") == ""
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(postgres_dsn, password="wrong")


async def test_a_pid_file_with_the_pid_of_a_stranger_keeps_nobody_down_and_harms_nobody(data_dir, postgres):
    async with postgres_server(data_dir):
        pass
    (data_dir / "postgres" / "data" / "postmaster.pid").write_text(f"{postgres.pid}\n{data_dir}\n")
    async with postgres_server(data_dir) as database:
        assert await execute(database.dsn, "SELECT 1") == 1
    assert await execute(postgres.dsn, "SELECT 1") == 1


def test_the_socket_of_a_deep_data_directory_lies_in_a_private_short_one(tmp_path):
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    chosen = socket_directory(deep, None)
    assert len(bytes(chosen / SOCKET_NAME)) <= SOCKET_PATH_BYTES_MAX
    assert stat.S_IMODE(chosen.stat().st_mode) == 0o700
    assert socket_directory(deep, None) == chosen, "remembered, so that crashes do not leave one folder each"
    chosen.chmod(0o755)
    other = socket_directory(deep, None)
    assert other != chosen, "no longer private: not used"
    chosen.rmdir()
    other.rmdir()


def test_the_socket_lies_beside_the_data_where_that_path_is_short(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shallow = tmp_path.joinpath("s")
    shallow.mkdir()
    if len(bytes(shallow / "run" / SOCKET_NAME)) > SOCKET_PATH_BYTES_MAX:
        pytest.skip("the temporary folder of this machine is deep itself")
    assert socket_directory(shallow, None) == shallow / "run"
