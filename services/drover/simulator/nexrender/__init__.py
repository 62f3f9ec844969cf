"""A simulated nexrender for the demo and for tests: both API dialects, real MP4 files, faults on demand."""
