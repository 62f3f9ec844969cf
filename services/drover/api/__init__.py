"""The API over the read models, for people and the dashboard. Agents use the gateway."""
