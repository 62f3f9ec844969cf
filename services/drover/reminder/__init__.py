"""The reminder service: writers of the context's partitions, the reactor that sends due alarms, and the HTTP routes."""
