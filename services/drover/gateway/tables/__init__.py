"""Declares for each relation which columns of a write make which command. The package `writes` does the rest."""
