"""A subset of PostgREST for reads: grammar, compilation to SQL, the answer. Writes are commands, not handled here."""
