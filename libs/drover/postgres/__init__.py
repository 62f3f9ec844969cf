"""Connections to Postgres with bounds on every wait, and the migrations of Drover's own tables. No read models."""
