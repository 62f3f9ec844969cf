"""The domain: one folder for each context, each with a decider. Pure: no I/O, no clock, no randomness."""
