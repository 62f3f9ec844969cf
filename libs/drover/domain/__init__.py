"""The pure heart: one folder a context, each a decider. No I/O, no clock, no randomness lives below this folder."""
