"""Publishes the forms of snapshots that were ever released, each with a sample, and checks that all can be read."""
