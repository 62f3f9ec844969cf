"""The render service: renders on their way from the queue to the NAS."""
