"""Postgres: connections with named bounds, and the migrations of the platform's own tables. No read models."""
