"""Rows, tables and relations of the read models, each declared once. No I/O and no folds."""
