"""`drover verify` and `drover projection rebuild` against a running platform."""

from __future__ import annotations

import signal

import asyncpg
import msgspec
import pytest

from drover.cli.exits import Exit
from drover.readmodel.form import placed, schema_of
from drover.testing.waiting import eventually
from tests.e2e.process import DroverProcess, run_to_the_end

FLEET = schema_of("fleet")
WRONG = placed("SELECT count(*) FROM rm_fleet.device_rows WHERE group_id = 'P9-G9'")


@pytest.mark.req("EV-03", "EV-06")
async def test_a_row_changed_by_hand_is_found_by_verify_and_healed_by_a_rebuild(start, tmp_path):
    platform = await start()
    data = platform.data_dir

    async def drover(*arguments):
        return await run_to_the_end(*arguments, "--data-dir", data, output=tmp_path / f"{arguments[0]}.log")

    async with platform.calling() as http:
        made = await http.register("RIGHT00001", "WRONG00001", headers={"Prefer": "return=representation"})
        assert made.status == 201

        async def projected():
            return len(await http.rows("devices")) == 2

        await eventually(projected)
        code, said = await drover("verify")
        assert code == Exit.OK, said

        dsn = msgspec.json.decode((data / "credentials.json").read_bytes())["postgres_url"]
        connection = await asyncpg.connect(dsn)
        await connection.execute(
            placed("UPDATE rm_fleet.device_rows SET group_id = 'P9-G9' WHERE serial_number = 'WRONG00001'")
        )
        code, said = await drover("verify", "fleet")
        assert code == Exit.FAILED
        assert "group_id: the log says P1-G1, the table says P9-G9" in said

        code, said = await drover("projection", "rebuild", "fleet", "--dry-run")
        assert code == Exit.OK
        assert "group_id: the log says P1-G1, the table says P9-G9" in said
        assert await connection.fetchval(WRONG) == 1, "a dry run heals nothing"

        code, said = await drover("projection", "rebuild", "fleet")
        assert code == Exit.OK, said
        assert "now serves" in said
        assert await connection.fetchval(WRONG) == 0
        await connection.close()
        assert (await drover("verify"))[0] == Exit.OK
        assert (await http.register("AFTER00001")).status == 201

        async def goes_on():
            return len(await http.rows("devices")) == 3

        await eventually(goes_on)


WAITING = """
SELECT count(*) FROM pg_stat_activity
WHERE application_name = 'drover-hold fleet' AND wait_event_type = 'Lock'
"""
REBUILDING = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'drover-rebuild fleet'"
SCHEMAS = "SELECT array_agg(nspname::text ORDER BY nspname) FROM pg_namespace WHERE nspname LIKE 'rm\\_fleet%'"


@pytest.mark.slow
@pytest.mark.req("EV-03", "EV-06")
async def test_a_rebuild_that_is_killed_goes_on_where_it_was_and_leaves_nothing_behind(start, tmp_path):
    platform = await start()
    rebuild = ("projection", "rebuild", "fleet", "--data-dir", platform.data_dir)
    async with platform.calling() as http:
        assert (await http.register(*(f"KILLED{number:04}" for number in range(20)))).status == 201
        await http.catch_up()
        looking = await asyncpg.connect(platform.credentials["postgres_url"])
        holding = await asyncpg.connect(platform.credentials["postgres_url"])
        async with holding.transaction():
            # Whoever holds this row holds the rebuild, too: it has folded everything and stands before its comparison.
            await holding.execute("SELECT FROM drover.checkpoints WHERE schema = $1 FOR UPDATE", FLEET)
            doomed = DroverProcess(*rebuild, output=tmp_path / "doomed.log")
            try:
                await eventually(lambda: looking.fetchval(WAITING), within_s=60)
                doomed.send(signal.SIGKILL)
                assert await doomed.ended() == -signal.SIGKILL
            finally:
                await doomed.end()
            assert await looking.fetchval(SCHEMAS) == [FLEET, f"{FLEET}__shadow"]

        async def gone():
            return not await looking.fetchval(REBUILDING)

        await eventually(gone)
        code, said = await run_to_the_end(*rebuild, output=tmp_path / "again.log")
        assert code == Exit.OK, said
        assert "continued at event" in said
        assert await looking.fetchval(SCHEMAS) == [FLEET]
        code, said = await run_to_the_end("verify", "--data-dir", platform.data_dir, output=tmp_path / "verify.log")
        assert code == Exit.OK, said
        await looking.close()
        await holding.close()
