"""The embedded servers when their parent dies, or is interrupted: no orphan, no loss, and the next start works."""

from __future__ import annotations

import asyncpg
import nats as nats_client
import psutil
import pytest

from drover.embedded.directory import DataDirectory
from drover.embedded.errors import DataDirectoryBusy
from drover.embedded.nats import nats_server
from drover.embedded.postgres import postgres_server

from .conftest import EVENTUALLY_S

pytestmark = pytest.mark.req("EV-10")


async def write(up) -> None:
    async with await nats_client.connect(up["nats_url"]) as client:
        await client.jetstream().add_stream(name="KEPT", subjects=["kept"])
        await client.jetstream().publish("kept", b"acknowledged")
    connection = await asyncpg.connect(up["dsn"])
    await connection.execute("CREATE TABLE kept AS SELECT 'committed' AS text")
    await connection.close()


async def check_data_after_the_next_start(data_dir) -> None:
    with DataDirectory(data_dir):
        async with nats_server(data_dir) as log, postgres_server(data_dir) as database:
            async with await nats_client.connect(log.url) as client:
                assert (await client.jetstream().get_last_msg("KEPT", "kept")).data == b"acknowledged"
            connection = await asyncpg.connect(database.dsn)
            assert await connection.fetchval("SELECT text FROM kept") == "committed"
            await connection.close()


async def test_a_parent_killed_with_nine_leaves_no_process_and_the_next_start_has_all_data(
    data_dir, hold, processes_of, eventually
):
    holder = hold()
    await write(holder.up)
    holder.kill()
    eventually(lambda: processes_of() == [])
    await check_data_after_the_next_start(data_dir)


async def test_the_next_start_does_not_have_to_wait_for_the_guards_of_a_killed_parent(
    data_dir, hold, processes_of, eventually
):
    holder = hold()
    await write(holder.up)
    holder.kill()
    await check_data_after_the_next_start(data_dir)  # at once: the old servers may be stopping at this moment
    eventually(lambda: processes_of() == [])  # the old guards may take longer to notice that all is over


async def test_servers_whose_parent_and_guards_were_killed_are_found_and_stopped_by_the_next_start(
    data_dir, hold, processes_of
):
    holder = hold()
    await write(holder.up)
    holder.kill(*holder.up["guards"])
    assert all(psutil.pid_exists(pid) for pid in holder.up["servers"]), "the point of this test: they are left over"
    await check_data_after_the_next_start(data_dir)
    assert processes_of() == []


def test_ctrl_c_reaches_the_parent_alone_which_still_has_its_servers_and_stops_them(hold, processes_of):
    holder = hold()
    holder.interrupt_as_a_terminal_does()
    assert holder.next_line() == {"servers_answer": True}
    assert holder.process.wait(EVENTUALLY_S) == 0
    assert processes_of() == []


def test_a_second_holder_of_the_data_directory_is_told_who_holds_it_and_what_to_do(data_dir, hold):
    holder = hold()
    with pytest.raises(DataDirectoryBusy, match=r"in use by process \d+.* Stop that one first .* --data-dir") as caught:
        DataDirectory(data_dir).__enter__()
    assert caught.value.pid == holder.process.pid
    assert caught.value.path == data_dir
