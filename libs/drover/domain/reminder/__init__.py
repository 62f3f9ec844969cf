"""Reminders: alarms on pages, each sent again and again with growing pauses, at the same hour of its user's day."""

from drover.domain.reminder.decider import REMINDER, reminder_decider

__all__ = ["REMINDER", "reminder_decider"]
