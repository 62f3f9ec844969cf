"""Measurements, each as a ratio to a raw limit taken in the same run. Run with `make bench`."""
