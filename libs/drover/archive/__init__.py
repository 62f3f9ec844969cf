"""Commits outside the log: as text, in compressed segments with checksums and an index, and back into an empty log."""
