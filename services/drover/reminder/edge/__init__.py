"""`/api/reminder/*`: the HTTP routes for apps and the back office. Any process can serve them, because commands go over
NATS."""
