"""A simulated nexrender server for the demo and for tests: both forms of its API, real MP4 files, and faults on
demand."""
