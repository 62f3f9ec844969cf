"""The HTTP API over the read models, for people and the dashboard. Agents (the programs that run phones) use the
gateway."""
