"""What is counted of HTTP and of the process, as Prometheus gets it."""

from __future__ import annotations

from math import isnan

import pytest
from prometheus_client import REGISTRY

from drover.service.health import Health
from drover.service.metrics import Timing, route_meter, show_disk, show_process

pytestmark = pytest.mark.req("EV-07")
value = REGISTRY.get_sample_value


def test_a_request_is_counted_by_class_and_timed_by_bucket():
    labels = {"route": "/test/counted", "method": "GET"}
    meter = route_meter("/test/counted", "GET")
    assert value("drover_http_request_duration_seconds_count", labels) is None
    meter.observe(200, 0.0025)
    meter.observe(404, 0.3)
    assert value("drover_http_requests_total", {**labels, "status": "2xx"}) == 1
    assert value("drover_http_requests_total", {**labels, "status": "4xx"}) == 1
    assert value("drover_http_request_duration_seconds_bucket", {**labels, "le": "0.0025"}) == 1
    assert value("drover_http_request_duration_seconds_bucket", {**labels, "le": "0.25"}) == 1
    assert value("drover_http_request_duration_seconds_bucket", {**labels, "le": "0.5"}) == 2
    assert value("drover_http_request_duration_seconds_count", labels) == 2
    assert value("drover_http_request_duration_seconds_sum", labels) == pytest.approx(0.3025)


def test_who_asks_too_often_is_counted_apart_and_among_the_4xx():
    labels = {"route": "/test/limited", "method": "GET"}
    meter = route_meter("/test/limited", "GET")
    meter.observe(400, 0.001)
    assert value("drover_http_limited_requests_total", labels) is None
    meter.observe(429, 0.001)
    assert value("drover_http_limited_requests_total", labels) == 1
    assert value("drover_http_requests_total", {**labels, "status": "4xx"}) == 2


def test_what_takes_longer_than_the_last_bound_is_counted_too():
    timing = Timing((1.0, 2.0))
    timing.observe(3.0)
    assert (timing.in_bucket, timing.seconds) == ([0, 0, 1], 3.0)


def test_a_process_tells_what_runs_in_it_and_whether_it_is_ready():
    health = Health()
    show_process(health, ["gateway", "api"])
    assert value("drover_ready") == 0
    health.started()
    assert value("drover_ready") == 1
    health.add_ready("nats", lambda: "NATS is not connected.")
    assert value("drover_ready") == 0
    (family,) = [one for one in REGISTRY.collect() if one.name == "drover_service_info"]
    assert {sample.labels["service"] for sample in family.samples} >= {"gateway", "api"}


def test_the_disk_of_a_folder_is_told(tmp_path):
    show_disk("test", tmp_path)
    free, size = (
        value("drover_disk_free_bytes", {"folder": "test"}),
        value("drover_disk_size_bytes", {"folder": "test"}),
    )
    assert 0 < free <= size


def test_a_disk_that_is_gone_stops_no_scrape(tmp_path):
    (folder := tmp_path / "unmounted").mkdir()
    show_disk("test", folder)
    folder.rmdir()
    assert isnan(value("drover_disk_free_bytes", {"folder": "test"}))
    assert isnan(value("drover_disk_size_bytes", {"folder": "test"}))


def test_no_counter_says_when_it_began():
    assert [one.name for one in REGISTRY.collect() if one.name.endswith("_created")] == []
