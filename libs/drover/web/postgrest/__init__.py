"""A subset of PostgREST for reads: its grammar, the SQL, the answer. Writes are commands, and handled elsewhere."""
