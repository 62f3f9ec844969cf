"""Jobs of ours, rendered by the real nexrender but for After Effects: its server, its core, its copy action."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec
import pytest

from drover.render.nexrender.client import NexrenderClient
from drover.render.nexrender.job import job_document
from drover.render.nexrender.paths import file_url
from drover.render.nexrender.states import Stage, is_missing
from tests.integration.nexrender.real_server import PACKAGES, RENDER_S, installed_node, real_nexrender, render_one

SECRET = "secret of the test"
UID = "drover-7-1-0a1b2c3d"

# Prints what aerender prints, and writes what it was given to where it was told to.
AERENDER = """#!/bin/sh
while [ $# -gt 0 ]; do
  case "$1" in -output) output="$2";; -project) project="$2";; -comp) composition="$2";; -OMtemplate) module="$2";; esac
  shift
done
echo "PROGRESS:  Start: 0:00:00:00"
echo "PROGRESS:  Duration: 0:00:10:00"
echo "PROGRESS:  0:00:04:00 (1): 0 Seconds"
sleep 0.1
echo "PROGRESS:  0:00:09:00 (2): 0 Seconds"
{ echo "$composition"; echo "$module"; cat "$project" "$(dirname "$project")"/asset-*; } > "$output"
"""


@pytest.fixture
async def server(tmp_path):
    async with real_nexrender(tmp_path, SECRET) as url:
        yield url


@pytest.fixture
async def client(server):
    async with NexrenderClient(server, secret=SECRET) as client:
        yield client


@pytest.fixture
def work(server, tmp_path):
    """Has a worker take one job and render it."""
    aerender = tmp_path / "aerender"
    aerender.write_text(AERENDER)
    aerender.chmod(0o755)

    async def work() -> None:
        await render_one(server, SECRET, folder=tmp_path / "work", aerender=aerender)

    return work


def document(tmp_path: Path, template: Path, **changes):
    values = {
        "uid": UID,
        "render_id": 7,
        "template": str(template),
        "composition": "_MAIN Mini Chip Count",
        "assets": [],
        "output": str(tmp_path / "out" / UID / "job_7.mp4"),
    }
    return job_document(**{**values, **changes})


@pytest.mark.req("RN-07", "RN-08", "RN-09")
@pytest.mark.parametrize("folder", ["plain", "with space", "100% #1 & more?", "한글 폴더", "it's [here]; a+b=c@d,e!"])
async def test_the_real_nexrender_finds_our_files_and_puts_its_result_where_we_look(client, work, tmp_path, folder):
    (tmp_path / folder).mkdir()
    template, flag = tmp_path / folder / "cyprus design.aep", tmp_path / folder / "United States.png"
    template.write_text("the template\n")
    flag.write_text("the flag\n")
    assets = [
        {"type": "data", "layerName": "Name 1", "property": "Source Text", "value": "PHIL IVEY"},
        {"type": "image", "layerName": "Flag 1", "src": str(flag)},
    ]
    job = document(tmp_path, template, assets=assets)
    await client.submit(job)
    await work()
    done = await client.find(UID)
    assert (done.stage, done.error) == (Stage.FINISHED, None)
    assert done.progress < 100, "it never told 100, and is finished all the same"
    assert (tmp_path / "out" / UID / "job_7.mp4").read_text().splitlines() == [
        "_MAIN Mini Chip Count",
        "H.264 - Match Render Settings - 15 Mbps",
        "the template",
        "the flag",
    ]


@pytest.mark.req("RN-12")
async def test_a_template_that_is_missing_is_told_from_an_image_that_is_missing(client, work, tmp_path):
    template = tmp_path / "missing design.aep"
    await client.submit(document(tmp_path, template))
    await work()
    failed = await client.find(UID)
    assert failed.stage is Stage.ERROR
    assert is_missing(failed.error, str(template))
    assert is_missing(failed.error, file_url(str(template)))

    await client.remove(UID)
    template.write_text("the template\n")
    flag = {"type": "image", "layerName": "Flag 1", "src": str(tmp_path / "missing flag.png")}
    await client.submit(document(tmp_path, template, assets=[flag]))
    await work()
    failed = await client.find(UID)
    assert failed.stage is Stage.ERROR
    assert "missing flag.png" in failed.error
    assert not is_missing(failed.error, str(template))


def with_an_output_of_its_own(job, tmp_path):
    job["output"] = str(tmp_path / "direct.mp4")


def with_files_that_have_no_name_of_ours(job, tmp_path):
    del job["template"]["name"]


@pytest.mark.control
@pytest.mark.parametrize("spoil", [with_an_output_of_its_own, with_files_that_have_no_name_of_ours])
async def test_what_the_document_does_differently_from_003_is_needed(client, work, tmp_path, spoil):
    template = tmp_path / "design.aep"
    template.write_text("the template\n")
    job = document(tmp_path, template)
    spoil(job, tmp_path)
    await client.submit(job)
    await work()
    assert (await client.find(UID)).stage is Stage.ERROR


@pytest.mark.req("RN-07")
def test_paths_of_windows_come_out_as_they_went_in():
    paths = [
        r"D:\templates\cyprusdesign.aep",
        "D:/templates/cyprusdesign.aep",
        r"D:\my templates\50% #1 [a] & b.aep",
        r"D:\템플릿\디자인.aep",
        r"\\NAS\broadcast\templates\design one.aep",
    ]
    script = """
        require('path').sep = '\\\\'
        const toPath = require('file-uri-to-path')
        const urls = JSON.parse(process.argv[1])
        console.log(JSON.stringify(urls.map(url => [toPath(url), new URL(url).protocol])))
    """
    argv = [installed_node(), "-e", script, msgspec.json.encode([file_url(path) for path in paths]).decode()]
    said = subprocess.run(argv, cwd=PACKAGES, check=True, capture_output=True, timeout=RENDER_S).stdout
    assert msgspec.json.decode(said) == [[path.replace("/", "\\"), "file:"] for path in paths]
