"""The commands as a person sees them: options and help. Their code is imported only when one of them runs.

A module in here imports only click and constants, because `drover --help` loads all of them.
"""
