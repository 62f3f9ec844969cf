"""The commands as a person sees them: options and help. What they do is imported only when one of them runs.

A module in here imports click and constants, nothing that costs time: `drover --help` loads all of them.
"""
