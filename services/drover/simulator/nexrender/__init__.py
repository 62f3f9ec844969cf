"""A simulated nexrender server for the demo and for tests: its API (tests can give it another one), real MP4 files, and
faults on demand."""
