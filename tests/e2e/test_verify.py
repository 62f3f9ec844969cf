"""`drover verify` and `drover projection rebuild` against a running platform."""

from __future__ import annotations

import asyncpg
import msgspec
import pytest

from drover.cli.exits import Exit
from drover.testing.waiting import eventually
from tests.e2e.process import run_to_the_end


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
            "UPDATE rm_fleet.device_rows SET group_id = 'P9-G9' WHERE serial_number = 'WRONG00001'"
        )
        code, said = await drover("verify", "fleet")
        assert code == Exit.FAILED
        assert "group_id: the log says P1-G1, the table says P9-G9" in said

        code, said = await drover("projection", "rebuild", "fleet", "--dry-run")
        assert code == Exit.OK
        assert "group_id: the log says P1-G1, the table says P9-G9" in said
        assert (await drover("verify", "fleet"))[0] == Exit.FAILED, "a dry run heals nothing"

        code, said = await drover("projection", "rebuild", "fleet")
        assert code == Exit.OK, said
        assert "now serves" in said
        assert await connection.fetchval("SELECT count(*) FROM rm_fleet.device_rows WHERE group_id = 'P1-G1'") == 2
        await connection.close()
        assert (await drover("verify"))[0] == Exit.OK
        assert (await http.register("AFTER00001")).status == 201

        async def goes_on():
            return len(await http.rows("devices")) == 3

        await eventually(goes_on)
