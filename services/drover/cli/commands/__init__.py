"""The commands of `drover` with their options and help. The code of a command is imported only when it runs.

Modules here import only click and constants, because `drover --help` loads all of them.
"""
