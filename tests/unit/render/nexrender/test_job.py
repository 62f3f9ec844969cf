"""The document that nexrender is given."""

from __future__ import annotations

import pytest

from drover.render.nexrender.job import UidUnusable, job_document, output_of, simplified, uid_tag
from drover.render.nexrender.paths import PathUnusable

NAME = {"type": "data", "layerName": "Name 1", "property": "Source Text", "value": "PHIL IVEY"}
FLAG = {"type": "image", "layerName": "Flag 1", "src": "D:/assets/flags/United States.png"}
CLOCK = {"type": "data", "layerName": "Clock", "property": "timeRemaining", "expression": "time * 1000"}


def document(**changes):
    values = {
        "uid": "drover-7-1-0a1b2c3d",
        "render_id": 7,
        "template": r"D:\templates\cyprusdesign.aep",
        "composition": "_MAIN Mini Chip Count",
        "assets": [NAME, FLAG],
        "output": "D:/output/drover-7-1-0a1b2c3d/job_7.mp4",
    }
    return job_document(**{**values, **changes})


@pytest.mark.req("RN-07")
def test_the_job_says_what_to_render_with_what_and_where_to():
    assert document() == {
        "uid": "drover-7-1-0a1b2c3d",
        "tags": f"drover,render7,{uid_tag('drover-7-1-0a1b2c3d')}",
        "template": {
            "src": "file:///D:/templates/cyprusdesign.aep",
            "name": "template.aep",
            "composition": "_MAIN Mini Chip Count",
            "outputModule": "H.264 - Match Render Settings - 15 Mbps",
            "outputExt": "mp4",
        },
        "assets": [
            NAME,
            {**FLAG, "src": "file:///D:/assets/flags/United%20States.png", "name": "asset-2.png"},
        ],
        "actions": {
            "predownload": [],
            "postdownload": [],
            "prerender": [],
            "postrender": [
                {
                    "module": "@nexrender/action-copy",
                    "input": "result.mp4",
                    "output": "D:/output/drover-7-1-0a1b2c3d/job_7.mp4",
                }
            ],
        },
    }


@pytest.mark.req("RN-07")
def test_the_dialect_of_003_has_its_actions_in_a_list_and_the_output_beside_them():
    job = document(assets=[NAME, CLOCK, FLAG])
    simple = simplified(job)
    assert simple["output"] == "D:/output/drover-7-1-0a1b2c3d/job_7.mp4"
    assert simple["actions"] == [
        {
            "type": "expression",
            "params": {"layerName": "Clock", "property": "timeRemaining", "value": "time * 1000"},
        }
    ]
    assert [asset["layerName"] for asset in simple["assets"]] == ["Name 1", "Flag 1"]
    assert {name: simple[name] for name in ("uid", "tags", "template")} == {
        name: job[name] for name in ("uid", "tags", "template")
    }
    assert set(simple) == {*job, "output"}


def test_where_the_result_lands_can_be_read_from_either_document():
    assert output_of(document()) == output_of(simplified(document())) == "D:/output/drover-7-1-0a1b2c3d/job_7.mp4"
    assert output_of({"actions": {"postrender": []}, "output": "D:/x.mp4"}) is None, "it would be cleared up"
    assert output_of({"actions": []}) is None


@pytest.mark.req("RN-07")
def test_another_output_module_can_be_asked_for():
    assert document(output_module="ProRes 4444")["template"]["outputModule"] == "ProRes 4444"


def test_the_caller_s_assets_are_left_as_they_were():
    flag = dict(FLAG)
    document(assets=[flag])
    assert flag == FLAG


def test_every_file_has_a_name_of_its_own():
    job = document(assets=[FLAG, FLAG, {**FLAG, "type": "audio", "src": "https://cdn.example/horn"}])
    assert [asset["name"] for asset in job["assets"]] == ["asset-1.png", "asset-2.png", "asset-3"]


def test_tags_are_plain_words_and_the_uid_s_stands_for_it_alone():
    assert document(tags=["studio A", "", "render7"])["tags"].split(",") == [
        "drover",
        "render7",
        uid_tag("drover-7-1-0a1b2c3d"),
        "studioA",
    ]
    assert uid_tag("drover-1-11-a") != uid_tag("drover-11-1-a")
    assert uid_tag("한").isalnum()


@pytest.mark.parametrize("uid", ["", "pickup", "status", "a/b", "../x", "a b", "한", "-a", "x" * 129, "a\n"])
def test_a_uid_that_is_no_name_for_a_folder_or_means_something_else_in_an_address_is_refused(uid):
    with pytest.raises(UidUnusable) as refused:
        document(uid=uid)
    assert refused.value.uid == uid


@pytest.mark.parametrize("output", ["", "job_7.mp4", "out/job_7.mp4", "D:job_7.mp4"])
def test_a_result_must_not_land_where_nexrender_clears_up(output):
    with pytest.raises(PathUnusable):
        document(output=output)
