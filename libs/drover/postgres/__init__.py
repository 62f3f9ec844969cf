"""Connections to Postgres with a limit on every wait, and the migrations of Drover's own tables. Read models are not
here."""
