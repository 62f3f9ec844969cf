"""`?as_of=`: the farm and the queue at a past moment."""
