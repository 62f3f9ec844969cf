"""Hostile requests to a real platform: `make fuzz`. A short part of it is in `make test`."""
