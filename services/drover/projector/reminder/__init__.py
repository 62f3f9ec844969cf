"""The projection of reminders: alarms, users, their subscriptions, and the history of sendings as rows. No I/O.

Each partition of the log writes its own partition of each table: all rows of a user come from one partition.
"""

from drover.projector.reminder.projection import REMINDER_PROJECTION, RULES

__all__ = ["REMINDER_PROJECTION", "RULES"]
