"""The agents' edge: heartbeats in memory, writes as commands, reads as a subset of PostgREST. No fleet rules."""
