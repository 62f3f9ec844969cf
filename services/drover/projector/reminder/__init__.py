"""The projection of reminders: alarms, users, their subscriptions, and the history of sendings as rows. No I/O.

Every partition has its own part of each table: all rows of a user come from one partition.
"""

from drover.projector.reminder.projection import REMINDER_PROJECTION, RULES

__all__ = ["REMINDER_PROJECTION", "RULES"]
