"""Tells people of alerts: each once when it is raised, and once when it is over."""
