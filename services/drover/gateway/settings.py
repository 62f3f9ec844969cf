"""The settings of the HTTP server for agents."""

from __future__ import annotations

from drover.service.config import Section
from drover.service.setting_types import Burst, JobsFor, Rate


class GatewaySettings(Section, frozen=True, kw_only=True):
    """How many requests a device may send, and which devices get jobs."""

    device_requests_per_s: Rate = 5.0
    """Polls and progress reports per second that one device may send in the long run; more are answered with 429."""
    jobs_for: JobsFor = "all"
    """Which devices get a job without a target: all, or only those that are assigned to it by name."""
    device_requests_burst: Burst = 20
    """How many polls and progress reports a device may send at once. Heartbeats and final reports have separate limits,
    four times as high."""
