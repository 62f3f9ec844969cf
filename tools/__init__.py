"""Generates published files from the code (`make contracts`). Not part of the product."""
