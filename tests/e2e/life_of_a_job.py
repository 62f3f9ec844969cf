"""What both Supabase clients see of the same life of a job: one crash, one success."""

HISTORY = [
    "1 CREATED",
    "1 SENT",
    "1 ACKED",
    "1 FAILED",
    "1 RETRY_SCHEDULED",
    "2 CREATED",
    "2 SENT",
    "1 STALE_REPORT",
    "2 ACKED",
    "2 SUCCEEDED",
]
