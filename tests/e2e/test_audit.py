"""The audit on a real platform: who signed in, read and changed what is there, and the log has no address in it."""

from __future__ import annotations

import json

import pytest

from drover.testing.waiting import eventually
from tests.e2e.process import run_to_the_end
from tests.e2e.test_people import admin_of, browsing


@pytest.mark.req("SE-11")
async def test_who_signs_in_reads_and_changes_is_on_record_with_the_address_sealed(platform, tmp_path):
    async with browsing(platform) as kim:
        status, signed_in = await kim.sign_in(*admin_of(platform))
        assert status == 200
        me = f"user:{signed_in['user']['id']}"
        assert (await kim.call("GET", "/api/keys"))[0] == 200
        # For no phone: other tests share this platform.
        job = {"target_url": "https://youtu.be/abc", "title": "To be audited", "target": {"device_ids": []}}
        assert (await kim.call("POST", "/rest/v1/jobs", json=job))[0] == 201

        async def listed() -> dict[str, dict] | None:
            _, page = await kim.call("GET", f"/api/audit?by={me}")
            found = {entry["kind"]: entry for entry in reversed(page["items"])}
            return found if {"change", "sign_in"} <= set(found) else None  # they are recorded after the answer

        found = await eventually(listed)
        assert {"sign_in", "keys", "change", "audit"} <= set(found)
        assert {entry["address"] for entry in found.values()} == {"127.0.0.1"}
        assert found["keys"]["what"] == "/api/keys"
        assert found["change"]["what"] == "POST /rest/v1/jobs"
        assert found["sign_in"]["what"].startswith("session ")

        # The trace leads from the address to what was changed.
        trace = found["change"]["trace_id"]
        _, events = await kim.call("GET", f"/rest/v1/events?by=eq.{me}&type=eq.JobCreated&order=at.desc&limit=1")
        assert trace is not None
        assert trace in events[0]["trace"]

    options = ("--data-dir", platform.data_dir)
    log = tmp_path / "identity.jsonl"
    code, said = await run_to_the_end(
        "events", "export", "--context", "identity", "-o", log, *options, output=tmp_path / "export.log"
    )
    assert code == 0, said
    accesses = [line for line in log.read_text().splitlines() if '"AccessRecorded"' in line]
    assert accesses
    assert not [line for line in accesses if "127.0.0.1" in line], "the address is only sealed there"
    code, said = await run_to_the_end(
        "audit", "list", "--kind", "export", "--json", *options, output=tmp_path / "list.log"
    )
    assert code == 0, said
    entry = json.loads(said.splitlines()[0])
    assert (entry["kind"], entry["what"]) == ("export", "events export --context identity")
    assert entry["by"].startswith("operator:")


@pytest.mark.req("SE-11")
async def test_every_request_has_a_line_in_the_log_and_no_heartbeat_has(platform):
    async with platform.calling() as http:
        await http.register("AUDITED1")
        await http.beat("AUDITED1")
        await http.rows("devices", "serial_number=eq.AUDITED1")
        await http.get("/api/status")
    file = platform.data_dir / "access.log"
    await eventually(lambda: "/api/status" in file.read_text())
    assert file.stat().st_mode & 0o777 == 0o600
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert {"/rest/v1/devices", "/api/status"} <= {line["route"] for line in lines}
    assert not [line for line in lines if line["method"] == "PATCH" and line["route"] == "/rest/v1/devices"]
    assert "eq.AUDITED1" not in "".join(json.dumps(line) for line in lines)
