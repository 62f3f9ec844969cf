"""`python -m drover.simulator`: a simulated farm against a running Drover, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import click
import uvloop

from drover.service import logging
from drover.service.health import Health
from drover.service.lifecycle import Component, Phase, run
from drover.simulator.app import Options, Simulation
from drover.simulator.population import PCS_MAX, PHONES_PER_PC_MAX, SEED_MAX

GRACE_S: Final = 4.0


@click.command(context_settings={"show_default": True})
@click.option("--url", help="Address of the platform.  [default: the one in credentials.json]")
@click.option("--data-dir", type=click.Path(path_type=Path), default=".drover", help="Where credentials.json is.")
@click.option("--pcs", type=click.IntRange(1, PCS_MAX), default=6, help="Number of PCs.")
@click.option("--phones", type=click.IntRange(1, PHONES_PER_PC_MAX), default=20, help="Phones on each PC.")
@click.option("--seed", type=click.IntRange(0, SEED_MAX), default=1, help="The same seed, the same farm and troubles.")
@click.option("--speed", type=click.FloatRange(0.01, 1000), default=1.0, help="Seconds the farm lives in a real one.")
@click.option("--log-format", type=click.Choice(["console", "json"]), default="console", help="How logs look.")
def main(url: str | None, data_dir: Path, pcs: int, phones: int, seed: int, speed: float, log_format: str) -> None:
    """Simulate a farm: PCs with phones that heartbeat, lose their network, crash, and lose power."""
    logging.configure(log_format, "info")
    simulation = Simulation(Options(data_dir, url, pcs, phones, seed, speed))
    farm = Component("simulated farm", Phase.EDGE, simulation.running(), failure=simulation.wait_failed)
    sys.exit(uvloop.run(run([farm], Health(), grace_s=GRACE_S)))


if __name__ == "__main__":
    main()
