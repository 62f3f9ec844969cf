"""The real `@supabase/supabase-js`, under Node, walks through the whole life of a job."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import msgspec
import pytest

from tests.e2e.life_of_a_job import HISTORY
from tests.node_packages import node_with

CLIENT = Path(__file__).parent / "js"
WALK_S = 90


@pytest.fixture(scope="session")
def node() -> str:
    return node_with(CLIENT)


async def walk(node: str, script: str, **environ: str) -> dict[str, object]:
    """Runs a script of the client to its end. What it says at each of its steps."""
    process = await asyncio.create_subprocess_exec(
        node,
        script,
        cwd=CLIENT,
        env=os.environ | environ,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        said, complaint = await asyncio.wait_for(process.communicate(), WALK_S)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    steps = {line["step"]: line["what"] for line in map(msgspec.json.decode, said.splitlines())}
    assert process.returncode == 0, f"after {[*steps]}:\n{complaint.decode()}"
    return steps


@pytest.mark.req("DF-07", "DF-09", "DF-10", "DF-14", "DF-29", "OQ-09", "OQ-11", "EV-04")
async def test_supabase_js_walks_through_the_whole_life_of_a_job(node, start):
    platform = await start()
    keys = platform.credentials
    steps = await walk(
        node,
        "life_of_a_job.mjs",
        DROVER_URL=platform.url,
        DROVER_ANON_KEY=keys["anon_key"],
        DROVER_SERVICE_KEY=keys["service_key"],
    )
    assert steps["history"] == HISTORY
    assert steps["ended"] == {"status": "success"}


@pytest.mark.req("SY-09", "SY-13")
async def test_supabase_js_signs_in_refreshes_and_signs_out(node, platform):
    keys = platform.credentials
    steps = await walk(
        node,
        "sign_in.mjs",
        DROVER_URL=platform.url,
        DROVER_ANON_KEY=keys["anon_key"],
        DROVER_EMAIL=keys["admin_email"],
        DROVER_PASSWORD=keys["admin_password"],
    )
    assert steps["refused"] == {"status": 400, "message": "Invalid login credentials"}
    assert steps["signed in"] == {"email": keys["admin_email"], "role": "admin"}
    assert steps["over"] == {"code": "session_expired"}
