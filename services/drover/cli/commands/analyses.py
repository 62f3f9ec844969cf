"""`drover tests`: its commands, options and help. What they do is in `drover.cli.operations.analyses`."""

from __future__ import annotations

from typing import Any, Final

import click

from drover.cli.examples import examples
from drover.cli.operation_options import limit_option, status_option, user_option, watch_option, yes_option
from drover.cli.operations.statuses import TESTS
from drover.cli.options import Number, json_option
from drover.cli.server_options import server_options

test_argument: Final = click.argument("test", metavar="TEST", help="The id of the test, or the beginning of it.")
tests_argument: Final = click.argument(
    "tests", nargs=-1, required=True, metavar="TEST...", help="The ids of tests, or the beginnings of them."
)
user_argument: Final = click.argument("user_id", metavar="USER", help="The id of the user.")


@click.group(
    epilog=examples(
        "drover tests list --status processing --watch",
        "drover tests cleanup --yes",
        "drover tests grant u1 5",
    )
)
def tests() -> None:
    """List and end the tests of users, and clean up stalled ones."""


@tests.command(
    name="list",
    epilog=examples(
        "drover tests list --status processing --watch",
        "drover tests list --user u1",
        "drover tests list --status failed --limit 100 --json",
    ),
)
@status_option(TESTS)
@user_option
@limit_option
@watch_option
@json_option
@server_options
def list_(**options: Any) -> None:
    """List tests, newest first."""
    from drover.cli.operations.analyses import list_ as run

    run(**options)


@tests.command(epilog=examples("drover tests show 0199a1b2-4c3d", "drover tests show 0199a1b2-4c3d --watch"))
@test_argument
@watch_option
@json_option
@server_options
def show(**options: Any) -> None:
    """Show a test and how it ended."""
    from drover.cli.operations.analyses import show as run

    run(**options)


@tests.command(epilog=examples("drover tests complete 0199a1b2-4c3d --result report-17"))
@tests_argument
@click.option("--result", metavar="REFERENCE", help="Where the result is.")
@json_option
@server_options
def complete(**options: Any) -> None:
    """End tests as completed."""
    from drover.cli.operations.analyses import complete as run

    run(**options)


@tests.command(epilog=examples("drover tests fail 0199a1b2-4c3d --code WORKER_LOST --yes"))
@tests_argument
@click.option("--code", metavar="CODE", help="Why, as a code for programs.")
@click.option("--message", metavar="TEXT", help="Why, as a sentence.")
@yes_option
@json_option
@server_options
def fail(**options: Any) -> None:
    """End tests as failed."""
    from drover.cli.operations.analyses import fail as run

    run(**options)


@tests.command(epilog=examples("drover tests cleanup", "drover tests cleanup --yes --json"))
@yes_option
@json_option
@server_options
def cleanup(**options: Any) -> None:
    """Fail and refund stalled tests now.

    Drover does so by itself at every full hour.
    """
    from drover.cli.operations.analyses import cleanup as run

    run(**options)


@tests.command(epilog=examples("drover tests runs", "drover tests runs --limit 100 --json"))
@limit_option
@watch_option
@json_option
@server_options
def runs(**options: Any) -> None:
    """List the cleanups, newest first."""
    from drover.cli.operations.analyses import runs as run

    run(**options)


@tests.command(epilog=examples("drover tests user u1"))
@user_argument
@limit_option
@watch_option
@json_option
@server_options
def user(**options: Any) -> None:
    """Show what a user was granted, charged and refunded."""
    from drover.cli.operations.analyses import user as run

    run(**options)


@tests.command(epilog=examples("drover tests grant u1 5"))
@user_argument
@click.argument("tests", type=Number(1), metavar="N", help="How many tests.")
@json_option
@server_options
def grant(**options: Any) -> None:
    """Grant tests to a user."""
    from drover.cli.operations.analyses import grant as run

    run(**options)


@tests.command(epilog=examples("drover tests freeze u1"))
@user_argument
@json_option
@server_options
def freeze(**options: Any) -> None:
    """Freeze a user, who can then start no tests."""
    from drover.cli.operations.analyses import freeze as run

    run(**options)


@tests.command(epilog=examples("drover tests unfreeze u1"))
@user_argument
@json_option
@server_options
def unfreeze(**options: Any) -> None:
    """Let a frozen user start tests again."""
    from drover.cli.operations.analyses import unfreeze as run

    run(**options)
