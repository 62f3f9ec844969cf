"""The reminder service: writers of the context's partitions, the reactor that sends what is due, and its HTTP."""
