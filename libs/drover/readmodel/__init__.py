"""Declares rows, tables and relations of the read models, each once. No I/O, and no rules that fill them."""
