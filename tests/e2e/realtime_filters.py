"""A filter for each operator and for each type of column, and which of two jobs it lets through."""

from __future__ import annotations

from typing import Final

from tests.e2e.client import Http

JOBS: Final = {
    "a": {"base_reward": 1.5, "duration_min_pct": 10},
    "b": {"base_reward": 2.5, "duration_min_pct": 20},
}

FILTERS: Final = {
    # Text
    "target_url=eq.https://youtu.be/filter-a": "a",
    "target_url=neq.https://youtu.be/filter-a": "b",
    "target_url=in.(https://youtu.be/filter-a,https://youtu.be/x)": "a",
    "target_url=not.in.(https://youtu.be/filter-a)": "b",
    "target_url=lt.https://youtu.be/filter-b": "a",
    "target_url=like.%/filter-_": "ab",
    "target_url=like.%/FILTER-_": "",
    "target_url=ilike.%/FILTER-B": "b",
    # Numbers
    "duration_min_pct=eq.20": "b",
    "duration_min_pct=lt.20": "a",
    "duration_min_pct=in.(10,20)": "ab",
    "base_reward=gt.1.5": "b",
    "base_reward=gte.1.5": "ab",
    "base_reward=lte.1.5": "a",
    # Booleans, moments, null
    "is_active=eq.true": "ab",
    "is_active=is.false": "",
    "created_at=gt.2020-01-01T00:00:00Z": "ab",
    "created_at=lte.2020-01-01": "",
    "ended_at=is.null": "ab",
    "ended_at=not.is.null": "",
    "end_reason=neq.X": "",
    "end_reason=isdistinct.X": "ab",
    # Several
    "duration_min_pct=gte.10,base_reward=gt.2": "b",
}


async def write_job(http: Http, name: str, by: str) -> str:
    """Create one of the jobs, for nobody; its title."""
    title = f"{name} of {by}"
    row = {"title": title, "target_url": f"https://youtu.be/filter-{name}", "target": {"device_ids": []}, **JOBS[name]}
    answer = await http.call("POST", "/rest/v1/jobs", json=row)
    assert answer.status == 201, answer
    return title
