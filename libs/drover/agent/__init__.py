"""The library for agents: programs that work for phones. docs/agents.md has a tutorial and all rules.

It needs aiohttp and msgspec only, and imports no service and no driver of a server.
"""

from drover.agent.agent import Agent, KeyMissing, NoWork
from drover.agent.data_dir import DataDirInUse, DataDirUnusable
from drover.agent.enrolment import NotEnrolled
from drover.agent.key_file import KeysUnreadable
from drover.agent.protocol import Job
from drover.agent.work import Result, Work, WorkFailed

__all__ = [
    "Agent",
    "DataDirInUse",
    "DataDirUnusable",
    "Job",
    "KeyMissing",
    "KeysUnreadable",
    "NoWork",
    "NotEnrolled",
    "Result",
    "Work",
    "WorkFailed",
]
