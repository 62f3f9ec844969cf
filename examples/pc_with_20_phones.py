"""An agent for a PC with 20 phones: python pc_with_20_phones.py http://127.0.0.1:8080 CODE. Each gets its own key."""

import asyncio
import sys

from drover.agent import Agent, Result, Work

STEPS = 10

url, *code = sys.argv[1:]
serials = [f"EXAMPLEPC1D{number:02d}" for number in range(1, 21)]
agent = Agent(url, serials=serials, code=code[0] if code else None, data_dir=".drover-agent-pc")


@agent.work
async def run(work: Work) -> Result:
    done = work.checkpoint.get("done", 0)  # above 0 after a restart of this program
    for step in range(done, STEPS):
        await asyncio.sleep(0.5)  # your work, instead
        await work.progress(100 * (step + 1) / STEPS, checkpoint={"done": step + 1})
    return Result(did_like=work.job.prob_like == 100)


agent.run()
