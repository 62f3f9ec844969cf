"""The nexrender of `drover up --demo`: starts a simulated server, makes its folders, and gives settings for both."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from drover.domain.render.images import FLAG_SUFFIX, FLAGS_FOLDER
from drover.simulator.nexrender.script import DEMO
from drover.simulator.nexrender.server import simulated_nexrender
from drover.simulator.renders import COUNTRIES

MACHINES: Final = 2
TEMPLATE: Final = "demo.aep"


@asynccontextmanager
async def demo_nexrender(data_dir: Path) -> AsyncIterator[dict[str, str]]:
    """Run a simulated nexrender while the block runs, and give the settings for render workers. Rendered files stay in
    `<data_dir>/renders/nas`."""
    nas, output, templates, images = _folders(data_dir)
    async with simulated_nexrender(output, script=DEMO, machines=MACHINES) as server:
        yield {
            "DROVER_RENDER_NEXRENDER_URL": server.url,
            "DROVER_RENDER_WORKERS": str(MACHINES),
            "DROVER_RENDER_NAS": str(nas),
            "DROVER_RENDER_NAS_GUARD": "folder",
            "DROVER_RENDER_OUTPUT_DIR": str(output),
            "DROVER_RENDER_TEMPLATE_DIR": str(templates),
            "DROVER_RENDER_TEMPLATE": TEMPLATE,
            "DROVER_RENDER_IMAGE_DIR": str(images),
            "DROVER_RENDER_FOLLOW_S": "2",
        }


def _folders(data_dir: Path) -> list[Path]:
    folders = [data_dir.resolve() / "renders" / name for name in ("nas", "output", "templates", "images")]
    *_, templates, images = folders
    flags = images / FLAGS_FOLDER
    for folder in (*folders, flags):
        folder.mkdir(parents=True, exist_ok=True)
    # Workers check that these files exist; nobody opens them.
    (templates / TEMPLATE).touch()
    for country in COUNTRIES:
        (flags / f"{country}{FLAG_SUFFIX}").touch()
    return folders
