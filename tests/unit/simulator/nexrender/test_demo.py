"""What the demo renders with."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from drover.domain.render.assets import to_assets
from drover.nas.settings import NasSettings
from drover.platform.settings import load
from drover.render.nexrender.client import NexrenderClient
from drover.render.settings import RenderSettings
from drover.service.render_capacity import RenderCapacity
from drover.simulator.nexrender.demo import demo_nexrender
from drover.simulator.renders import requests

SERVERS = {
    "DROVER_NATS_URL": "nats://x",
    "DROVER_NATS_SYSTEM_URL": "nats://x",
    "DROVER_POSTGRES_URL": "postgresql://x",
    "DROVER_JWT_SECRETS": "x" * 64,
}


async def test_its_settings_are_good_and_name_what_is_there(tmp_path):
    for _ in range(2):  # also on a directory that it knows
        async with demo_nexrender(tmp_path) as found:
            configuration = load({**SERVERS, **found})
            async with NexrenderClient(configuration[RenderCapacity].render_nexrender_url) as client:
                await client.health()
            look(configuration[RenderSettings], configuration[NasSettings])


def look(settings, nas):
    assert Path(settings.render_template_dir, settings.render_template).is_file()
    assert Path(settings.render_output_dir).is_dir()
    assert Path(nas.render_nas).is_dir()


async def test_every_picture_of_its_renders_is_there(tmp_path):
    async with demo_nexrender(tmp_path) as found:
        images = found["DROVER_RENDER_IMAGE_DIR"]
        shown = [to_assets(wanted["gfx_data"], {}, images=images) for wanted in islice(requests(seed=1), 50)]
        assert not [assets.unusable_images for assets in shown if assets.unusable_images]
        pictures = {asset["src"] for assets in shown for asset in assets.assets}
        assert pictures
        assert not missing(pictures)


def missing(paths):
    return [path for path in paths if not Path(path).is_file()]
