"""Describes the Grafana dashboards in Python, and writes them as JSON."""
