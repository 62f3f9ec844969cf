"""The names that 003's `.env.worker` gives to our settings, and what happens to those that nobody reads."""

from __future__ import annotations

import pytest
import structlog

from drover.cli.service_names import SERVICES
from drover.nas.settings import NasSettings
from drover.platform.registry import REGISTRY
from drover.platform.settings import FIELDS
from drover.platform.unread_settings import unread, warn_of_unread
from drover.render.settings import RenderPolicySettings, RenderSettings
from drover.service.config import ConfigurationError
from drover.service.other_names import MEANINGLESS, SETTINGS, fallbacks
from drover.service.render_capacity import RenderCapacity
from tests.settings import load

OURS = {
    "DROVER_NATS_URL": "nats://127.0.0.1:4222",
    "DROVER_POSTGRES_URL": "postgresql://127.0.0.1/drover",
    "DROVER_JWT_SECRETS": "s" * 32,
}
ENV_WORKER = {
    "SUPABASE_URL": "https://xxxx.supabase.co",
    "SUPABASE_KEY": "eyJ...",
    "NEXRENDER_API_URL": "http://nexrender-server:8080",
    "NAS_MOUNT_PATH": "/mnt/nas",
    "NAS_OUTPUT_DIR": "/broadcast/output",
    "AEP_TEMPLATE_DIR": "D:\\templates",
    "MAX_RETRIES": "5",
    "BASE_RETRY_DELAY": "90",
    "POLL_INTERVAL_DEFAULT": "15",
    "POLL_INTERVAL_IDLE": "45",
    "WORKER_ID": "8a3bd0b1-0000-4000-8000-000000000001",
}
"""003 §9.1 and §9.2, with other numbers than our defaults."""


@pytest.mark.req("DI-15")
def test_every_name_of_env_worker_is_known():
    assert {*ENV_WORKER} <= {*SETTINGS, *MEANINGLESS}
    assert {*SETTINGS.values()} <= {*FIELDS}


@pytest.mark.req("DI-15")
def test_an_env_worker_sets_the_render_worker():
    environ = OURS | ENV_WORKER
    render, policy = load(environ, RenderSettings), load(environ, RenderPolicySettings)
    assert load(environ, RenderCapacity).render_nexrender_url == "http://nexrender-server:8080"
    assert (render.render_template_dir, render.render_worker_id) == ("D:\\templates", ENV_WORKER["WORKER_ID"])
    assert (render.render_poll_s, render.render_poll_idle_s) == (15, 45)
    assert (policy.render_retries, policy.render_retry_base_s) == (5, 90)
    nas = load(environ, NasSettings)
    assert (nas.render_nas, nas.render_nas_mount) == ("/mnt/nas/broadcast/output", "/mnt/nas")


@pytest.mark.req("DI-15")
def test_our_names_come_first():
    environ = OURS | ENV_WORKER | {"DROVER_RENDER_RETRIES": "1", "DROVER_RENDER_NAS": "/srv/films"}
    assert load(environ, RenderPolicySettings).render_retries == 1
    nas = load(environ, NasSettings)
    assert (nas.render_nas, nas.render_nas_mount) == ("/srv/films", None), "the mount point goes with their folder"


@pytest.mark.req("DI-15")
@pytest.mark.parametrize(
    ("mount", "folder", "nas"),
    [
        ("/mnt/nas/", "broadcast/output", "/mnt/nas/broadcast/output"),
        ("/mnt/nas", "/mnt/nas/broadcast", "/mnt/nas/broadcast"),
        ("/mnt/nas", "", "/mnt/nas"),
        ("", "/broadcast", "/broadcast"),
        ("/mnt/nas", "/mnt/nas2", "/mnt/nas/mnt/nas2"),
    ],
)
def test_the_folder_is_below_the_mount_point(mount, folder, nas):
    environ = OURS | ENV_WORKER | {"NAS_MOUNT_PATH": mount, "NAS_OUTPUT_DIR": folder}
    assert load(environ, NasSettings).render_nas == nas


@pytest.mark.req("DI-15")
def test_a_value_that_is_not_understood_is_named_as_it_was_written():
    with pytest.raises(ConfigurationError) as caught:
        load(OURS | ENV_WORKER | {"MAX_RETRIES": "many"})
    (problem,) = caught.value.problems
    assert problem.startswith("MAX_RETRIES=many is not understood. ")
    assert "DROVER_RENDER_RETRIES" in problem


@pytest.mark.req("DI-15")
def test_general_names_count_only_where_nexrender_is_named():
    environ = OURS | {"MAX_RETRIES": "many", "WORKER_ID": "/not ours/"}
    assert load(environ, RenderPolicySettings).render_retries == 3
    assert fallbacks(environ) == {}
    assert {*unread(environ, SERVICES)} == {"MAX_RETRIES", "WORKER_ID"}


@pytest.mark.req("DI-15")
def test_what_means_nothing_here_is_warned_about_with_the_reason():
    with structlog.testing.capture_logs() as lines:
        warn_of_unread(OURS | ENV_WORKER, SERVICES)
    assert {line["setting"]: line["log_level"] for line in lines} == dict.fromkeys(MEANINGLESS, "warning")
    assert all("NATS" in line["why"] for line in lines)
    assert "eyJ" not in str(lines)


@pytest.mark.req("DI-15")
def test_what_is_set_twice_is_warned_about():
    found = unread(OURS | ENV_WORKER | {"DROVER_RENDER_NAS": "/srv/films", "DROVER_RENDER_POLL_S": "3"}, SERVICES)
    assert {*found} - {*MEANINGLESS} == {"NAS_MOUNT_PATH", "NAS_OUTPUT_DIR", "POLL_INTERVAL_DEFAULT"}
    assert found["POLL_INTERVAL_DEFAULT"] == "DROVER_RENDER_POLL_S is set, and comes first"


@pytest.mark.req("DI-15")
def test_a_worker_alone_does_not_decide_about_retries():
    found = unread(OURS | ENV_WORKER, ["render-worker"])
    assert {*found} - {*MEANINGLESS} == {"MAX_RETRIES", "BASE_RETRY_DELAY"}
    assert found["MAX_RETRIES"] == "no service of this process uses DROVER_RENDER_RETRIES"


@pytest.mark.req("DI-15")
def test_a_setting_of_a_service_that_does_not_run_here_is_warned_about():
    environ = OURS | {"DROVER_RENDER_POLL_S": "3", "DROVER_REMINDER_PARTITIONS": "2", "DROVER_LOG_LEVEL": "debug"}
    assert {*unread(environ, ["gateway"])} == {"DROVER_RENDER_POLL_S"}
    assert unread(environ, SERVICES) == {}


@pytest.mark.req("DI-15")
def test_no_setting_of_ours_is_left_unread_by_all_services():
    everything = dict.fromkeys(FIELDS, "x")
    assert unread(everything, [*REGISTRY]) == {}
