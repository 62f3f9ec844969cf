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


@pytest.mark.req("DF-07", "DF-09", "DF-10", "DF-14", "DF-29", "OQ-09", "OQ-11", "EV-04")
async def test_supabase_js_walks_through_the_whole_life_of_a_job(node, start):
    platform = await start()
    keys = platform.credentials
    walk = await asyncio.create_subprocess_exec(
        node,
        "life_of_a_job.mjs",
        cwd=CLIENT,
        env={
            **os.environ,
            "DROVER_URL": platform.url,
            "DROVER_ANON_KEY": keys["anon_key"],
            "DROVER_SERVICE_KEY": keys["service_key"],
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        said, complaint = await asyncio.wait_for(walk.communicate(), WALK_S)
    finally:
        if walk.returncode is None:
            walk.kill()
            await walk.wait()
    steps = {line["step"]: line["what"] for line in map(msgspec.json.decode, said.splitlines())}
    assert walk.returncode == 0, f"after {[*steps]}:\n{complaint.decode()}"
    assert steps["history"] == HISTORY
    assert steps["ended"] == {"status": "success"}


@pytest.mark.req("SY-09", "SY-13")
async def test_supabase_js_signs_in_refreshes_and_signs_out(node, platform):
    keys = platform.credentials
    walk = await asyncio.create_subprocess_exec(
        node,
        "sign_in.mjs",
        cwd=CLIENT,
        env={
            **os.environ,
            "DROVER_URL": platform.url,
            "DROVER_ANON_KEY": keys["anon_key"],
            "DROVER_EMAIL": keys["admin_email"],
            "DROVER_PASSWORD": keys["admin_password"],
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        said, complaint = await asyncio.wait_for(walk.communicate(), WALK_S)
    finally:
        if walk.returncode is None:
            walk.kill()
            await walk.wait()
    steps = {line["step"]: line["what"] for line in map(msgspec.json.decode, said.splitlines())}
    assert walk.returncode == 0, f"after {[*steps]}:\n{complaint.decode()}"
    assert steps["refused"] == {"status": 400, "message": "Invalid login credentials"}
    assert steps["signed in"] == {"email": keys["admin_email"], "role": "admin"}
    assert steps["over"] == {"code": "session_expired"}
