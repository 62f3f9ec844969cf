"""What the demo renders with."""

from __future__ import annotations

from pathlib import Path

from drover.domain.render.images import image_path
from drover.nas.settings import NasSettings
from drover.platform.settings import load
from drover.render.nexrender.client import NexrenderClient
from drover.render.settings import RenderSettings
from drover.service.render_capacity import RenderCapacity
from drover.simulator.nexrender.demo import demo_nexrender
from drover.simulator.renders import COUNTRIES

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
    for country in COUNTRIES:
        assert Path(image_path(country, settings.render_image_dir)).is_file(), country
