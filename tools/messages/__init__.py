"""Generates the message contracts from the code: schemas of events and commands, AsyncAPI, compatibility checks."""
