"""Checks that the settings have every sealing key that something is still sealed with."""

from __future__ import annotations

from collections.abc import Mapping

from drover.cli.checks.finding import Finding, Scene, fail, ok, skipped
from drover.cli.checks.machine import with_settings
from drover.cli.ring_use import RingUse, missing, sealed_uses, stored_uses
from drover.cli.sealing import rings_of
from drover.domain.errors import DroverError
from drover.service.subject_sealing import KeysUnreachable


@with_settings
async def sealing_keys_are_there(scene: Scene) -> Finding:
    if isinstance(scene.nats, DroverError) or isinstance(scene.postgres, DroverError):
        return skipped("NATS or PostgreSQL was not reached")
    rings = rings_of(scene.data_dir, embedded=scene.is_embedded, environ=scene.environ)
    if not any(rings.values()):
        return skipped("DROVER_SEALING_KEYS is not set here")
    try:
        uses = [*await stored_uses(scene.nats, all_pages=False), *await sealed_uses(scene.postgres)]
    except KeysUnreachable as error:
        return skipped(str(error))
    return judged(uses, rings)


def judged(uses: list[RingUse], rings: Mapping[str, tuple[str, ...]]) -> Finding:
    # If the settings have no keys for a context, another process serves this context, or none does.
    gone = missing([use for use in uses if rings[use.context]], rings)
    if gone:
        needed = "; ".join(f"{use.context} needs {use.kid} for {use.what}" for use in gone)
        return fail(
            f"{needed}, and it is not in the settings",
            "Put the key back into DROVER_SEALING_KEYS, or into the setting of the context. Then run `drover sealing "
            "rotate` before you remove it.",
        )
    return ok("the settings have every key that something is sealed with")
