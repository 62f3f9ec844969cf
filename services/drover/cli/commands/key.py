"""`drover key`: its commands, options and help. What they do is in `drover.cli.key`, `drover.cli.keys` and
`drover.cli.enrolments`."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import click

from drover.cli.examples import examples
from drover.cli.options import DATA_DIR_DEFAULT, Number, data_dir_option, json_option
from drover.domain.identity.policy import (
    API_KEY_GRACE_S_MAX,
    DEVICES_PER_ENROLMENT_MAX,
    ENROLMENT_S_MAX,
    KEY_NAME_CHARS_MAX,
)
from drover.service.api_keys import API_KEY_LIFETIME_S, KEY_ROLES

_ROLES: Final = [role.value for role in KEY_ROLES]


class KeyGroup(click.Group):
    """Takes `drover key ROLE` for `drover key issue ROLE`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] in _ROLES:
            return "issue", issue, args
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            ctx.fail(f"{error.format_message()} A ROLE is one of {', '.join(_ROLES)}.")


role_argument: Final = click.argument(
    "role",
    type=click.Choice(_ROLES),
    metavar="ROLE",
    help="Use anon for the agents of a farm, device for one device only, and service_role for a back office.",
)
device_argument: Final = click.argument(
    "device_id",
    type=click.UUID,
    required=False,
    help="With the role device, the id of the device. It is a UUID, not the serial number.",
)
key_argument: Final = click.argument(
    "key_id", type=click.UUID, help="The id of the key, as `drover key list` shows it."
)
days_option: Final = click.option(
    "--days",
    type=Number(1, 3650),
    default=timedelta(seconds=API_KEY_LIFETIME_S).days,
    show_default=True,
    metavar="DAYS",
    help="For how many days a key is valid.",
)


@click.group(cls=KeyGroup, epilog=examples("drover key create service_role --name office", "drover key list"))
def key() -> None:
    """Make, list and revoke the API keys of programs.

    `drover key create` makes a key that the platform knows: it is listed, and can be rotated and revoked. `drover key
    ROLE` only signs one and asks no server.
    """


@key.command(
    epilog=examples(
        "drover key create service_role --name office --days 90",
        "drover key create device 0199a1b2-4c3d-7e5f-8a9b-0c1d2e3f4a5b",
    )
)
@role_argument
@device_argument
@click.option("--name", metavar="NAME", help=f"What the key is for, at most {KEY_NAME_CHARS_MAX} characters.")
@days_option
@data_dir_option
def create(**options: Any) -> None:
    """Make an API key and print it.

    The key is printed once and stored nowhere. A key for a device can read and report that device only. This command
    needs DROVER_IDENTITY_SECRETS of the platform, or the data directory of `drover up`.
    """
    from drover.cli.keys import create as run

    run(**options)


@key.command(name="list", epilog=examples("drover key list", "drover key list --all --json"))
@click.option("--all", "everything", is_flag=True, help="Also show keys that have expired or were revoked.")
@json_option
@data_dir_option
def list_(**options: Any) -> None:
    """List the API keys, without the keys themselves."""
    from drover.cli.keys import list_ as run

    run(**options)


@key.command(epilog=examples("drover key rotate 0199a1b2-4c3d-7e5f-8a9b-0c1d2e3f4a5b --grace-hours 1"))
@key_argument
@click.option(
    "--grace-hours",
    type=Number(0, API_KEY_GRACE_S_MAX // 3600),
    default=24,
    show_default=True,
    metavar="HOURS",
    help="How long the old key stays valid.",
)
@days_option
@data_dir_option
def rotate(**options: Any) -> None:
    """Make a successor of a key and print it.

    The successor has the same name, role and device. The old key stays valid for --grace-hours and is then revoked.
    """
    from drover.cli.keys import rotate as run

    run(**options)


@key.command(epilog=examples("drover key revoke 0199a1b2-4c3d-7e5f-8a9b-0c1d2e3f4a5b"))
@key_argument
@data_dir_option
def revoke(**options: Any) -> None:
    """Revoke a key. All processes refuse it within 2 seconds."""
    from drover.cli.keys import revoke as run

    run(**options)


@key.command(epilog=examples("drover key adopt keys.txt --name 'old phones'", "drover key adopt - < keys.txt"))
@click.argument(
    "file",
    type=click.File(),
    help="A file with one key on each line, or a credentials.json. Use - for standard input.",
)
@click.option("--name", metavar="NAME", help="What the keys are for.", default="adopted", show_default=True)
@data_dir_option
def adopt(**options: Any) -> None:
    """Record keys that were issued without the platform's knowledge.

    An adopted key is listed, can be revoked, and is valid on processes without DROVER_JWT_SECRETS. This command checks
    the keys, so it needs the secret that signed them: DROVER_JWT_SECRETS, DROVER_IDENTITY_SECRETS, or the data
    directory of `drover up`.
    """
    from drover.cli.keys import adopt as run

    run(**options)


@key.command(epilog=examples("drover key enrol PC-01", "drover key enrol PC-07 --new --phones 20 --hours 2"))
@click.argument("pc_id", metavar="PC", help="The id of the PC whose phones get keys.")
@click.option(
    "--phones",
    type=Number(1, DEVICES_PER_ENROLMENT_MAX),
    default=DEVICES_PER_ENROLMENT_MAX,
    show_default=True,
    metavar="COUNT",
    help="The maximum number of phones.",
)
@click.option(
    "--hours",
    type=Number(1, ENROLMENT_S_MAX // 3600),
    default=24,
    show_default=True,
    metavar="HOURS",
    help="How long the code can be used.",
)
@click.option("--new", is_flag=True, help="Allow a PC that is not registered. Its first phone registers it.")
@days_option
@data_dir_option
def enrol(**options: Any) -> None:
    """Make a one-time code for the phones of a PC and print it.

    The agent of the PC sends the code to POST /api/enrol and gets a key for each of its phones. Phones that are
    missing are registered. The code is printed once and stored nowhere.
    """
    from drover.cli.enrolments import enrol as run

    run(**options)


@key.command(epilog=examples("drover key codes", "drover key codes --all --json"))
@click.option("--all", "everything", is_flag=True, help="Also show codes that have expired or were withdrawn.")
@json_option
@data_dir_option
def codes(**options: Any) -> None:
    """List the enrolment codes, without the codes themselves."""
    from drover.cli.enrolments import codes as run

    run(**options)


@key.command(epilog=examples("drover key withdraw 0199a1b2-4c3d-7e5f-8a9b-0c1d2e3f4a5b"))
@click.argument(
    "enrolment_id", type=click.UUID, metavar="ID", help="The id of the code, as `drover key codes` shows it."
)
@data_dir_option
def withdraw(**options: Any) -> None:
    """Withdraw an enrolment code. Keys that it has given out stay valid."""
    from drover.cli.enrolments import withdraw as run

    run(**options)


@key.command(epilog=examples("drover key anon", "drover key issue service_role --days 30"))
@role_argument
@device_argument
@days_option
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False, exists=True, readable=False),
    help="The data directory of `drover up`, whose secret signs the key.",
    show_default=f"{DATA_DIR_DEFAULT}, unless DROVER_IDENTITY_SECRETS or DROVER_JWT_SECRETS is set",
)
def issue(**options: Any) -> None:
    """Sign an API key without asking a server.

    `drover key ROLE` is short for this. The key is signed with the first secret of DROVER_IDENTITY_SECRETS, or of
    DROVER_JWT_SECRETS if that is not set. It is not listed; to be able to revoke it, adopt it (`drover key adopt`). Use
    `drover key create` if the platform runs.
    """
    from drover.cli.key import issue as run

    run(**options)
