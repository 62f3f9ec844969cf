"""What people on the machine ask a running platform: `drover events`, `status`, `doctor`, each a process of its own."""

from __future__ import annotations

import json

import pytest

from drover.cli.exits import Exit
from drover.testing.waiting import eventually
from tests.e2e.process import DroverProcess, run_to_the_end


@pytest.mark.req("EV-02", "EV-06")
async def test_a_tail_shows_what_was_and_what_comes_and_ends_with_ctrl_c(platform, http, tmp_path):
    (device,) = (await http.register("TAILED0001", headers={"Prefer": "return=representation"})).json
    options = ("--entity", device["id"], "--json", "--data-dir", platform.data_dir)
    tail = DroverProcess("events", "tail", *options, output=tmp_path / "tail.log")

    def shown():
        return [json.loads(line) for line in tail.output.splitlines()]

    try:
        await eventually(lambda: len(shown()) == 1)
        assert (await http.beat("TAILED0001")).status == 204
        await eventually(lambda: len(shown()) == 2)
        tail.interrupt_as_a_terminal_does()
        assert await tail.ended() == Exit.OK
    finally:
        await tail.end()
    assert [event["type"] for event in shown()] == ["DeviceRegistered", "DeviceCameOnline"]
    await http.catch_up()
    recorded = await http.rows("events", f"entities=cs.{{{device['id']}}}&order=n")
    assert [event["n"] for event in shown()] == [event["n"] for event in recorded], "the log, and the table made of it"


async def test_status_and_doctor_find_the_platform_well(platform, http, tmp_path):
    where = ("--json", "--data-dir", platform.data_dir)
    code, said = await run_to_the_end("status", *where, output=tmp_path / "status.log")
    assert code == Exit.OK, said
    assert json.loads(said)["partitions"][0]["leader"]
    code, said = await run_to_the_end("doctor", *where, output=tmp_path / "doctor.log")
    assert code == Exit.OK, said


async def test_where_no_platform_is_they_say_so(tmp_path):
    code, said = await run_to_the_end("status", "--data-dir", tmp_path, output=tmp_path / "status.log")
    assert code == Exit.UNREACHABLE
    assert str(tmp_path) in said.replace("\n", "")
    assert "Traceback" not in said
