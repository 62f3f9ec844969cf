"""The dashboards of Grafana, described in Python and written as JSON."""
