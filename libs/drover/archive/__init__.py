"""Archives of the log: commits as text in compressed files, with checksums and an index. Writes, reads, verifies and
restores them."""
