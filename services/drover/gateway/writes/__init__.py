"""Writes of rows at `/rest/v1`: which rows, which commands, which answer. `tables` has a declaration for each table."""
