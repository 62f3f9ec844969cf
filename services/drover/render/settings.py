"""The settings of the render service. The NAS and the number of workers are shared with other services."""

from __future__ import annotations

from drover.service.config import Section
from drover.service.setting_types import Folder, LongSeconds, Pixels, Retries, Seconds, Word, WorkerId


class RenderPolicySettings(Section, frozen=True, kw_only=True):
    """When renders are given up and retried. The queue's writer decides this, workers do not."""

    render_lease_s: LongSeconds = 1800.0
    """How long a silent worker keeps its render."""
    render_timeout_s: LongSeconds = 1800.0
    """How long nexrender may take in total; then the job is cancelled and run again, at most twice."""
    render_retries: Retries = 3
    """How often to retry when nexrender does not answer."""
    render_retry_base_s: LongSeconds = 60.0
    """The first delay before a retry; it doubles each time."""


class RenderSettings(Section, frozen=True, kw_only=True):
    """How workers make renders."""

    render_worker_id: WorkerId | None = None
    """Name of this process's worker: unique, and the same after a restart. Not set: the host name."""
    render_nexrender_secret: Word = ""
    """nexrender's secret. Empty: it needs none."""
    render_output_dir: Folder | None = None
    """The folder that nexrender writes into, as this process sees it."""
    render_output_dir_nexrender: Folder | None = None
    """The same folder as nexrender sees it. Not set: the same path."""
    render_template_dir: Folder | None = None
    """Where After Effects' project files are, as nexrender sees them."""
    render_template: Folder | None = None
    """The project file of compositions that have none of their own."""
    render_image_dir: Folder | None = None
    """Where images are, as nexrender sees them; flags are in its folder `flags`. Files outside it are not used."""
    render_codec: Word = "h264"
    """The codec that a finished file must have."""
    render_width: Pixels = 1920
    """The width that its video must have."""
    render_height: Pixels = 1080
    """The height that its video must have."""
    render_poll_s: LongSeconds = 10.0
    """How often an idle worker polls for work, if none is pushed."""
    render_poll_idle_s: LongSeconds = 30.0
    """The poll interval after ten polls without work."""
    render_follow_s: Seconds = 5.0
    """How often nexrender is asked for the progress of a job."""
