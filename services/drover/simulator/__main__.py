"""`python -m drover.simulator`: runs a simulated farm against a running Drover, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import resource
import sys
from pathlib import Path
from typing import Final

import click
import uvloop

from drover.domain.errors import DroverError
from drover.service import logging
from drover.service.health import Health
from drover.service.lifecycle import Component, Phase, run
from drover.simulator.analyses import USERS_MAX
from drover.simulator.app import Options, Simulation
from drover.simulator.demo import PACE_MAX, PACE_MIN, demo
from drover.simulator.jobs import JOBS_WAITING_MAX
from drover.simulator.population import PCS_MAX, PHONES_PER_PC_MAX, SEED_MAX, SocketFor, Transport
from drover.simulator.reminders import READERS_MAX
from drover.simulator.renders import RENDERS_WAITING_MAX
from drover.simulator.script import SCRIPTS

GRACE_S: Final = 4.5
"""How many seconds the farm may take to stop: less than the time after which `drover up` kills this process."""


@click.command(context_settings={"show_default": True})
@click.option("--url", help="Address of the platform.  [default: the one in credentials.json]")
@click.option("--data-dir", type=click.Path(path_type=Path), default=".drover", help="Where credentials.json is.")
@click.option("--pcs", type=click.IntRange(1, PCS_MAX), default=6, help="Number of PCs.")
@click.option("--phones", type=click.IntRange(1, PHONES_PER_PC_MAX), default=20, help="Phones on each PC.")
@click.option("--seed", type=click.IntRange(0, SEED_MAX), default=1, help="Determines the farm and its faults.")
@click.option(
    "--speed",
    type=click.FloatRange(0.01, 1000),
    default=1.0,
    help="Simulated seconds per real second: all waits of the farm are shorter, also those that the platform asks "
    "for. The platform's own clocks do not change.",
)
@click.option("--script", type=click.Choice(list(SCRIPTS)), default="demo", help="How much goes wrong.")
@click.option(
    "--pace",
    type=click.FloatRange(PACE_MIN, PACE_MAX),
    default=1.0,
    help="Script demo: how many times sooner its faults occur and its videos end. Clocks do not change.",
)
@click.option(
    "--transport",
    type=click.Choice(["http", "socket", "mixed"]),
    default="mixed",
    help="How phones talk to the platform; mixed: some PCs poll, the others use a socket.",
)
@click.option("--http-every", type=click.IntRange(1, PCS_MAX), default=2, help="Mixed: one PC in this many polls.")
@click.option(
    "--socket-for", type=click.Choice(["pc", "device"]), default="pc", help="One socket for a PC, or for each phone."
)
@click.option(
    "--jobs",
    type=click.IntRange(0, JOBS_WAITING_MAX),
    default=3,
    help="Number of jobs to keep waiting or running, by creating new ones; 0: create none.",
)
@click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory where phones store their progress at each step, so that it survives a killed process. For a "
    "few phones.  [default: in memory, and in a file of the data directory at the end]",
)
@click.option(
    "--renders",
    type=click.IntRange(0, RENDERS_WAITING_MAX),
    default=0,
    show_default=True,
    help="Number of renders to keep waiting or running.",
)
@click.option("--users", type=click.IntRange(0, USERS_MAX), default=0, help="People who start analyses.")
@click.option("--readers", type=click.IntRange(0, READERS_MAX), default=0, help="People who set reminders.")
@click.option("--enrol", is_flag=True, help="Give each phone a key of its own, with one code for each PC.")
@click.option(
    "--ledger",
    type=click.Path(path_type=Path, dir_okay=False, writable=True),
    help="File for all runs and their outcomes, written at the end.",
)
@click.option("--log-format", type=click.Choice(["console", "json"]), default="console", help="How logs look.")
def main(
    url: str | None,
    data_dir: Path,
    pcs: int,
    phones: int,
    seed: int,
    speed: float,
    script: str,
    pace: float,
    transport: Transport,
    http_every: int,
    socket_for: SocketFor,
    jobs: int,
    renders: int,
    users: int,
    readers: int,
    enrol: bool,
    store: Path | None,
    ledger: Path | None,
    log_format: str,
) -> None:
    """Simulate a farm: PCs with phones that send heartbeats, work, lose their network, crash, and lose power.

    The work is simulated, too: nothing is opened and no account is used.
    """
    logging.configure(log_format, "info")
    options = Options(
        data_dir=data_dir,
        url=url,
        pcs=pcs,
        phones_per_pc=phones,
        seed=seed,
        speed=speed,
        script=demo(pace) if script == "demo" else SCRIPTS[script],
        plays_demo=script == "demo",
        transport=transport,
        socket_for=socket_for,
        http_every=http_every,
        jobs_waiting=jobs,
        renders_waiting=renders,
        users=users,
        readers=readers,
        enrol=enrol,
        store=store,
        ledger=ledger,
    )
    try:
        simulation = Simulation(options)
    except DroverError as error:
        raise click.UsageError(str(error)) from error
    _allow_sockets()
    farm = Component("simulated farm", Phase.EDGE, simulation.running(), failure=simulation.wait_failed)
    sys.exit(uvloop.run(run([farm], Health(), grace_s=GRACE_S)))


def _allow_sockets() -> None:
    """Raise the limit of open files to its maximum: each socket is one, and the usual limit is a thousand."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    main()
