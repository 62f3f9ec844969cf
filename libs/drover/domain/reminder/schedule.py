"""Computes the next time of an alarm, and makes the events if no minute is free."""

from __future__ import annotations

from datetime import datetime, timedelta

from drover.domain.alerts import raise_alert
from drover.domain.event import Event
from drover.domain.reminder.alerts import MINUTE_CROWDED
from drover.domain.reminder.events import AlarmScheduled, MinuteCrowded
from drover.domain.reminder.local_time import resumed, wall_of
from drover.domain.reminder.policy import CROWDED_ALERT_LASTS, Policy
from drover.domain.reminder.spacing import Spot, find_spot
from drover.domain.reminder.state import Alarm, Reminders, moment_at


def wanted_wall(alarm: Alarm) -> datetime:
    """Return the local time that the alarm was meant for, before it was shifted from a taken or missing minute.

    So shifts do not accumulate: an alarm for 9:00 that was shifted to 9:23 is meant for 9:00 again the next time.
    """
    return wall_of(moment_at(alarm.next_s), alarm.user.timezone) - timedelta(minutes=alarm.shift_min)


def following_spot(alarm: Alarm, policy: Policy, now: datetime) -> Spot:
    """Find the next time of the alarm, after the sending that is due or claimed now."""
    if alarm.moved:
        return Spot(moment_at(alarm.next_s), alarm.shift_min, 0, False)
    wall = resumed(wanted_wall(alarm), policy.pause(alarm.sent_count), alarm.user.timezone, now)
    return find_spot(alarm.user, alarm, wall, own_minute=alarm.minute)


def scheduled(state: Reminders, alarm: Alarm, wanted: datetime, now: datetime) -> list[Event]:
    """Make the events that set the alarm for a local time, or for a free minute after it."""
    user = alarm.user
    spot = find_spot(user, alarm, wanted, own_minute=alarm.minute)
    event = AlarmScheduled(
        page_id=alarm.page_id,
        user_id=user.user_id,
        next_alarm_time=spot.moment,
        shift_min=spot.shift_min,
        timezone=user.timezone,
        sent_count=alarm.sent_count,
    )
    return [event, *crowding(state, alarm, spot, now)]


def crowding(state: Reminders, alarm: Alarm, spot: Spot, now: datetime) -> list[Event]:
    """Make the events for an alarm that found no free minute and shares one."""
    if not spot.crowded:
        return []
    user_id = alarm.user.user_id
    return [
        MinuteCrowded(alarm.page_id, user_id, spot.moment, spot.tries),
        *raise_alert(
            state,
            MINUTE_CROWDED,
            user_id,
            f"No free minute was found for an alarm of user {user_id}: two of their alarms share a minute",
            now,
            until=now + CROWDED_ALERT_LASTS,
            page_id=alarm.page_id,
            next_alarm_time=spot.moment.isoformat(),
            tries=spot.tries,
        ),
    ]
