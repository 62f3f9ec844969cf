"""Rows, tables and relations of the read models, each declared once. No I/O; the folds that fill them are elsewhere."""
