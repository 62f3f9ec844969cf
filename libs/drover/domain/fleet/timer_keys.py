"""Makes the keys of the fleet's timers: one letter for the kind, then the id of what the timer is about."""

from __future__ import annotations


def assignment_timer(assignment_id: str) -> str:
    return f"a:{assignment_id}"


def device_timer(device_id: str) -> str:
    return f"d:{device_id}"


def job_timer(job_id: str) -> str:
    return f"j:{job_id}"


def schedule_timer(job_id: str) -> str:
    """The key of the timer that ends a job's wait for its time. `job_timer` ends the job itself."""
    return f"s:{job_id}"


def pc_timer(pc_id: str) -> str:
    return f"p:{pc_id}"
