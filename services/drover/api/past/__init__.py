"""`?as_of=`: the farm and the queue as they were at a moment."""
