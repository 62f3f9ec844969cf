"""Archives of the log: commits as text in compressed files, with checksums and an index. Also restores them."""
