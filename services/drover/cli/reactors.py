"""`drover reactors`: switches the external effects of a context (sending, rendering, notifying) on or off. They are off
after a restore or an import."""

from __future__ import annotations

from pathlib import Path

from nats.js.errors import NotFoundError
from rich.text import Text

from drover.cli.errors import NoSuchLog
from drover.cli.exits import Exit
from drover.cli.output import console, print_json
from drover.cli.running import asynchronous
from drover.cli.target import find_target, nats_of
from drover.domain.contexts import CONTEXTS
from drover.eventlog.reactor_switch import contexts_with_reactors_off, switch_reactors


@asynchronous
async def reactors(switch: str | None, contexts: tuple[str, ...], as_json: bool, data_dir: Path | None) -> Exit:
    chosen = contexts or CONTEXTS
    async with nats_of(find_target(data_dir)) as client:
        if switch is not None:
            for context in chosen:
                try:
                    await switch_reactors(client, context, on=switch != "off")
                except NotFoundError:
                    if contexts:
                        raise NoSuchLog(context) from None
        held = await contexts_with_reactors_off(client, chosen)
    if as_json:
        print_json({context: "off" if context in held else "on" for context in chosen})
        return Exit.OK
    screen = console()
    for context in chosen:
        screen.print(Text.assemble(f"{context:<10} ", ("off", "bold red") if context in held else ("on", "green")))
    if switch is not None:
        screen.print("Running services do not notice the change: restart them.")
    return Exit.OK
