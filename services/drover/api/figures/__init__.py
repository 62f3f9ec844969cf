"""Measures the farm for charts, and keeps the measurements for 31 days."""
