"""An agent for one phone: python one_phone.py http://127.0.0.1:8080 CODE. Only the first start needs the code."""

import asyncio
import sys

from drover.agent import Agent, Work, WorkFailed

url, *code = sys.argv[1:]
agent = Agent(url, serial="EXAMPLE01", code=code[0] if code else None)


@agent.work
async def run(work: Work) -> None:
    if "broken" in work.job.target_url:
        raise WorkFailed("APP_CRASH", "The app closed unexpectedly")
    for step in range(10):
        await asyncio.sleep(0.5)  # your work, instead
        await work.progress(10 * (step + 1))


agent.run()
