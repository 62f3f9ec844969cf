"""The decider runtime: one process holds a partition's lease and turns commands into commits. No rules live here."""
