"""`drover compositions`: its commands, options and help. What they do is in `drover.cli.operations.compositions`."""

from __future__ import annotations

from typing import Any, Final

import click

from drover.cli.examples import examples
from drover.cli.operation_options import limit_option, yes_option
from drover.cli.operations.statuses import LAYER_KINDS
from drover.cli.options import json_option
from drover.cli.server_options import server_options

composition_argument: Final = click.argument(
    "composition", metavar="COMPOSITION", help="The id of the composition, or the beginning of it."
)


@click.group(
    epilog=examples(
        "drover compositions list",
        "drover compositions set score --name 'Score Board' --template score.aep",
        "drover compositions map score 'Single - home' 'Home Team'",
    )
)
def compositions() -> None:
    """Describe what can be rendered, and map its fields to layers."""


@compositions.command(name="list", epilog=examples("drover compositions list", "drover compositions list --json"))
@limit_option
@json_option
@server_options
def list_(**options: Any) -> None:
    """List compositions."""
    from drover.cli.operations.compositions import list_ as run

    run(**options)


@compositions.command(epilog=examples("drover compositions show score"))
@composition_argument
@json_option
@server_options
def show(**options: Any) -> None:
    """Show a composition and the layers of its fields."""
    from drover.cli.operations.compositions import show as run

    run(**options)


@compositions.command(
    name="set", epilog=examples("drover compositions set score --name 'Score Board' --template score.aep")
)
@click.argument("composition", metavar="COMPOSITION", help="The whole id of the composition.")
@click.option("--name", metavar="NAME", help="What After Effects calls it.")
@click.option("--template", metavar="FILE", help="The project file.")
@click.option("--output-module", metavar="NAME", help="How After Effects writes the film.")
@json_option
@server_options
def set_(**options: Any) -> None:
    """Create or change a composition."""
    from drover.cli.operations.compositions import set_ as run

    run(**options)


@compositions.command(epilog=examples("drover compositions delete score --yes"))
@click.argument(
    "compositions",
    nargs=-1,
    required=True,
    metavar="COMPOSITION...",
    help="The ids, or the beginnings of them.",
)
@yes_option
@json_option
@server_options
def delete(**options: Any) -> None:
    """Delete compositions and the mapping of their fields."""
    from drover.cli.operations.compositions import delete as run

    run(**options)


@compositions.command(
    name="map",
    epilog=examples(
        "drover compositions map score 'Single - home' 'Home Team'",
        "drover compositions map score 'Slot 1 - photo' Photo --kind image",
    ),
)
@composition_argument
@click.argument("field", metavar="FIELD", help="The name of the field, such as `Slot 1 - name` or `Single - title`.")
@click.argument("layer", metavar="LAYER", help="The layer of After Effects on which it is drawn.")
@click.option(
    "--kind",
    type=click.Choice(LAYER_KINDS),
    metavar="KIND",
    help=f"What the layer shows: {', '.join(LAYER_KINDS)}.",
    show_default=LAYER_KINDS[0],
)
@click.option("--property", "property_", metavar="NAME", help="The property of the layer.", show_default="Source Text")
@json_option
@server_options
def map_(**options: Any) -> None:
    """Draw a field on a layer."""
    from drover.cli.operations.compositions import map_ as run

    run(**options)


@compositions.command(epilog=examples("drover compositions unmap score 'Single - home'"))
@composition_argument
@click.argument("fields", nargs=-1, required=True, metavar="FIELD...", help="The names of the fields.")
@json_option
@server_options
def unmap(**options: Any) -> None:
    """Draw fields no more."""
    from drover.cli.operations.compositions import unmap as run

    run(**options)
