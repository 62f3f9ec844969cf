"""Receivers of notices: one module each, chosen by settings."""
