"""The command group `drover`, and the one place that turns an error into a sentence and an exit code."""

from __future__ import annotations

import os
from typing import Final

import click

from drover.cli.commands.account import account
from drover.cli.commands.alarms import alarms
from drover.cli.commands.alerts import alerts
from drover.cli.commands.analyses import tests
from drover.cli.commands.archive import archive
from drover.cli.commands.audit import audit
from drover.cli.commands.completion import completion
from drover.cli.commands.compositions import compositions
from drover.cli.commands.config import config
from drover.cli.commands.devices import devices
from drover.cli.commands.doctor import doctor
from drover.cli.commands.erase import erase
from drover.cli.commands.events import events
from drover.cli.commands.jobs import jobs
from drover.cli.commands.key import key
from drover.cli.commands.log import log
from drover.cli.commands.migrate import migrate
from drover.cli.commands.pcs import pcs
from drover.cli.commands.projection import projection, verify_command
from drover.cli.commands.reactors import reactors
from drover.cli.commands.renders import renders
from drover.cli.commands.sealing import sealing
from drover.cli.commands.serve import serve
from drover.cli.commands.snapshots import snapshots
from drover.cli.commands.state import state
from drover.cli.commands.status import status
from drover.cli.commands.token import token
from drover.cli.commands.up import up
from drover.cli.commands.why import why
from drover.cli.examples import examples
from drover.cli.exits import Exit, exit_code_of, explained
from drover.domain.errors import DroverError
from drover.service.config import ConfigurationError

FARM: Final = (jobs, devices, pcs, renders, compositions, tests, alarms, alerts, token, why)
PLATFORM: Final = (
    *(up, serve, migrate, key, account, events, status, doctor, projection, verify_command, log, archive, state),
    *(reactors, snapshots, audit, config, erase, sealing, completion),
)


class _Sections(click.Group):
    """Lists its commands in two sections: those for the farm, and those for the platform itself."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in (("Farm Commands", FARM), ("Platform Commands", PLATFORM)):
            names = sorted(str(command.name) for command in commands)
            limit = formatter.width - 6 - max(map(len, self.commands))
            with formatter.section(title):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(limit)) for name in names])


@click.group(
    cls=_Sections,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\n\n".join(
        (
            explained(),
            examples(
                "drover up --demo",
                "drover jobs list --status open --watch",
                "drover why R58M00001",
                'eval "$(drover completion bash)"   # let the shell complete commands',
            ),
        )
    ),
)
@click.version_option(package_name="drover", prog_name="drover")
def drover() -> None:
    """Run and operate Drover, the control plane of a farm.

    Drover keeps every attempt at any piece of work as an event in one durable log. To try it, run `drover up --demo`;
    it needs nothing else on this machine.
    """
    _read_secret_files()


for command in (*FARM, *PLATFORM):
    drover.add_command(command)


def run() -> int:
    """Run the command line and return the exit code. Expected errors show a sentence, never a traceback."""
    try:
        result = drover.main(standalone_mode=False)
    except DroverError as error:
        click.echo(f"{click.style('Error:', fg='red')} {_sentence(error)}", err=True)
        return exit_code_of(error)
    except click.ClickException as error:
        error.show()
        return Exit.USAGE
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    return result if isinstance(result, int) else Exit.OK


def _read_secret_files() -> None:
    """Read settings from the files that the environment names. `drover --help` does not call this."""
    if any(name.startswith("DROVER_") and name.endswith("_FILE") for name in os.environ):
        from drover.platform.settings import FIELDS
        from drover.service.secret_files import read_secret_files

        read_secret_files(os.environ, FIELDS)


def _sentence(error: DroverError) -> str:
    """Return the message of the error, or the first line of its class's docstring if it has no message."""
    if isinstance(error, ConfigurationError) and len(error.problems) > 1:
        return "\n  ".join(("These settings must be corrected:", *error.problems))
    said = str(error) or (error.__doc__ or "").partition("\n")[0]
    return said if said.endswith((".", "?", "!")) else f"{said}."
