"""The published language made from the code: schemas of events and commands, AsyncAPI, and what may not change."""
