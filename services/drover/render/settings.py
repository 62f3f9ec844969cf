"""The settings of the render service. The NAS and the number of workers are asked by other services, too."""

from __future__ import annotations

from drover.service.config import Section
from drover.service.setting_types import Folder, LongSeconds, Pixels, Retries, Seconds, Word, WorkerId


class RenderSettings(Section, frozen=True, kw_only=True):
    """How renders are made, and how often they are tried."""

    render_worker_id: WorkerId | None = None
    """The name of this process' worker, the same after a restart and no other's. Not set: the name of the machine."""
    render_nexrender_secret: Word = ""
    """Its secret. Empty: none is asked for."""
    render_output_dir: Folder | None = None
    """The folder that nexrender writes into, as this process sees it."""
    render_output_dir_nexrender: Folder | None = None
    """The same folder as nexrender sees it. Not set: the same path."""
    render_template_dir: Folder | None = None
    """Where After Effects' project files are, as nexrender sees them."""
    render_template: Folder | None = None
    """The project file of compositions that have none of their own."""
    render_image_dir: Folder | None = None
    """Where pictures are, as nexrender sees them; flags are in its folder `flags`. Nothing outside of it is used."""
    render_codec: Word = "h264"
    """What a finished file must be encoded with."""
    render_width: Pixels = 1920
    """How wide its picture must be."""
    render_height: Pixels = 1080
    """How high."""
    render_lease_s: LongSeconds = 1800.0
    """How long a worker that is not heard of keeps its render."""
    render_timeout_s: LongSeconds = 1800.0
    """How long nexrender may take in all; then the job is cancelled and run again, twice."""
    render_retries: Retries = 3
    """How often nexrender is tried again that does not answer."""
    render_retry_base_s: LongSeconds = 60.0
    """After how long at first; then twice as long each time."""
    render_poll_s: LongSeconds = 10.0
    """How often an idle worker asks for work, if nobody tells it of any."""
    render_poll_idle_s: LongSeconds = 30.0
    """The same after ten times in vain."""
    render_follow_s: Seconds = 5.0
    """How often nexrender is asked how far it is."""
