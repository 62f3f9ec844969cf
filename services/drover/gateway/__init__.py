"""The agents' edge: heartbeats from memory, writes as commands, reads by the PostgREST subset. No fleet rules."""
