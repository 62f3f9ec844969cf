"""`drover renders`: its commands, options and help. What they do is in `drover.cli.operations.renders`."""

from __future__ import annotations

from typing import Any, Final

import click

from drover.cli.examples import examples
from drover.cli.operation_options import limit_option, status_option, watch_option, yes_option
from drover.cli.operations.statuses import RENDERS
from drover.cli.options import Number, json_option
from drover.cli.server_options import server_options

day_type: Final = click.DateTime(formats=["%Y-%m-%d"])
render_argument: Final = click.argument("render", type=Number(1), metavar="RENDER", help="The number of the render.")
renders_argument: Final = click.argument(
    "renders", type=Number(1), nargs=-1, required=True, metavar="RENDER...", help="The numbers of renders."
)


@click.group(
    epilog=examples(
        "drover renders list --status open --watch",
        "drover renders request lower-third --field name=Kim",
        "drover renders retry 42",
    )
)
def renders() -> None:
    """List, request, cancel and retry renders."""


@renders.command(
    name="list",
    epilog=examples(
        "drover renders list --status open --watch",
        "drover renders list --status failed --day 2026-03-02",
        "drover renders list --composition lower-third --json",
    ),
)
@status_option(RENDERS, has_open=True)
@click.option("--composition", metavar="ID", help="Select renders of this composition.")
@click.option("--day", type=day_type, metavar="DATE", help="Select renders for this day, such as 2026-03-02.")
@limit_option
@watch_option
@json_option
@server_options
def list_(**options: Any) -> None:
    """List renders, newest first."""
    from drover.cli.operations.renders import list_ as run

    run(**options)


@renders.command(epilog=examples("drover renders show 42", "drover renders show 42 --watch"))
@render_argument
@watch_option
@json_option
@server_options
def show(**options: Any) -> None:
    """Show a render, its stages and its last changes."""
    from drover.cli.operations.renders import show as run

    run(**options)


@renders.command(epilog=examples("drover renders workers", "drover renders workers --watch"))
@limit_option
@watch_option
@json_option
@server_options
def workers(**options: Any) -> None:
    """List the render workers and what they render."""
    from drover.cli.operations.renders import workers as run

    run(**options)


@renders.command(
    epilog=examples(
        "drover renders request lower-third --field name=Kim --field role=Host",
        "drover renders request chips --field 'Slot 1 - name=Kim' --cue 17",
        "drover renders request score --data @score.json --day 2026-03-02",
        """drover renders request score --data '{"single_fields": {"home": "3"}}'""",
    )
)
@click.argument("composition", metavar="COMPOSITION", help="The id of the composition.")
@click.option("--data", metavar="JSON", help="What is to be drawn: a JSON object, @FILE, or @- for standard input.")
@click.option(
    "--field",
    "fields",
    multiple=True,
    metavar="NAME=VALUE",
    help="A field to draw, by its name in the mapping. Repeat it for more.",
)
@click.option("--cue", metavar="ID", help="The cue item that the render is for.")
@click.option("--day", type=day_type, metavar="DATE", help="The day of the broadcast.", show_default="today in Seoul")
@json_option
@server_options
def request(**options: Any) -> None:
    """Request a render and print its number."""
    from drover.cli.operations.renders import request as run

    run(**options)


@renders.command(epilog=examples("drover renders cancel 42", "drover renders cancel 42 43 --yes"))
@renders_argument
@yes_option
@json_option
@server_options
def cancel(**options: Any) -> None:
    """Cancel renders that have not ended."""
    from drover.cli.operations.renders import cancel as run

    run(**options)


@renders.command(epilog=examples("drover renders release 42 --yes"))
@renders_argument
@yes_option
@json_option
@server_options
def release(**options: Any) -> None:
    """Take renders from their workers, so that other workers take them."""
    from drover.cli.operations.renders import release as run

    run(**options)


@renders.command(epilog=examples("drover renders retry 42 43"))
@renders_argument
@json_option
@server_options
def retry(**options: Any) -> None:
    """Queue renders again that failed or were cancelled."""
    from drover.cli.operations.renders import retry as run

    run(**options)
