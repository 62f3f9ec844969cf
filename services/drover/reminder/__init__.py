"""The reminder service: the writers of its partitions, the reactors that send due alarms, and the HTTP routes."""
