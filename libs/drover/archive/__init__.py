"""Archives of the log: commits as text, in compressed segments with checksums and an index, and their restore."""
