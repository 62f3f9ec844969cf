"""What the demo renders with."""

from __future__ import annotations

from pathlib import Path

from drover.render.nexrender.client import NexrenderClient
from drover.service import config
from drover.simulator.nexrender.demo import demo_nexrender

SERVERS = {
    "DROVER_NATS_URL": "nats://x",
    "DROVER_NATS_SYSTEM_URL": "nats://x",
    "DROVER_POSTGRES_URL": "postgresql://x",
    "DROVER_JWT_SECRETS": "x" * 64,
}


async def test_its_settings_are_good_and_name_what_is_there(tmp_path):
    for _ in range(2):  # also on a directory that it knows
        async with demo_nexrender(tmp_path) as found:
            settings = config.load({**SERVERS, **found})
            async with NexrenderClient(settings.render_nexrender_url) as client:
                await client.health()
            look(settings)


def look(settings):
    assert Path(settings.render_template_dir, settings.render_template).is_file()
    assert Path(settings.render_nas).is_dir()
    assert Path(settings.render_output_dir).is_dir()
