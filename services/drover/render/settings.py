"""The settings of the render service. The NAS and the number of workers are shared with other services."""

from __future__ import annotations

from drover.service.config import Section
from drover.service.setting_types import Folder, LongSeconds, Pixels, Retries, Seconds, Word, WorkerId


class RenderPolicySettings(Section, frozen=True, kw_only=True):
    """When renders are given up and retried. The queue's writer decides this, workers do not."""

    render_lease_s: LongSeconds = 1800.0
    """Seconds for which a worker keeps its render without a sign of life. After that another worker gets the render."""
    render_timeout_s: LongSeconds = 1800.0
    """Seconds that nexrender may take for one job. After that the job is cancelled and run again, at most twice."""
    render_retries: Retries = 3
    """How many times a request to nexrender is repeated when nexrender does not answer."""
    render_retry_base_s: LongSeconds = 60.0
    """Seconds before a request that nexrender did not answer is repeated. The delay doubles with each repeat."""


class RenderSettings(Section, frozen=True, kw_only=True):
    """How workers make renders."""

    render_worker_id: WorkerId | None = None
    """Name of the render worker in this process: unique, and the same after a restart. Not set: the host name."""
    render_nexrender_secret: Word = ""
    """The secret that nexrender asks for in each request. Empty: nexrender has none."""
    render_output_dir: Folder | None = None
    """The folder that nexrender writes into, as this process sees it."""
    render_output_dir_nexrender: Folder | None = None
    """The path of `render_output_dir` on the machine of nexrender. Not set: the same path."""
    render_template_dir: Folder | None = None
    """The folder with the project files of After Effects, as a path on the machine of nexrender."""
    render_template: Folder | None = None
    """The project file of compositions that have none of their own."""
    render_image_dir: Folder | None = None
    """The folder with the images, as a path on the machine of nexrender; national flags are in its folder `flags`.
    Files outside it are not used."""
    render_codec: Word = "h264"
    """The codec that a finished file must have."""
    render_width: Pixels = 1920
    """The width in pixels that a finished film must have."""
    render_height: Pixels = 1080
    """The height in pixels that a finished film must have."""
    render_poll_s: LongSeconds = 10.0
    """Seconds between two questions of an idle worker for work. New work is also pushed to it."""
    render_poll_idle_s: LongSeconds = 30.0
    """Seconds between two polls of a worker whose last ten polls found no work."""
    render_follow_s: Seconds = 5.0
    """Seconds between two questions to nexrender for the progress of a job."""
