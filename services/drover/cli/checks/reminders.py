"""Checks who sends reminders: Drover, or a sender of the users' own."""

from __future__ import annotations

from drover.cli.checks.finding import Finding, Scene, ok
from drover.cli.checks.machine import settings_of, with_settings
from drover.reminder.settings import ReminderSettings


@with_settings
async def reminders_are_sent(scene: Scene) -> Finding:
    settings = settings_of(scene, ReminderSettings)
    if not settings.reminder_sends:
        return ok("Drover sends none (DROVER_REMINDER_SENDS=0); a sender of your own has to")
    return ok(f"sent by the provider {settings.reminder_provider}")
