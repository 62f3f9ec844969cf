"""Reminders: a page's alarm is sent again and again, after growing pauses, at the same local time of day."""

from drover.domain.reminder.decider import REMINDER, reminder_decider

__all__ = ["REMINDER", "reminder_decider"]
