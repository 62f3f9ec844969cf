"""`python -m tests.fuzz`: made-up and malformed requests to a platform of its own, then a look at what is left."""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
import sys
import tempfile
import time
from pathlib import Path

import aiohttp
import click
import uvloop

from drover.platform.openapi import openapi_document
from tests.e2e.up import Platform
from tests.fuzz.attack import Attacker, Tally
from tests.fuzz.contract import Findings, Interviewer
from tests.fuzz.hostile import operations
from tests.fuzz.reach import lines, not_reached
from tests.fuzz.target import ENVIRON, Target, settled

OUT = Path("build/fuzz.json")
WARM_UP = 0.1
"""The share of requests after which memory is measured for the first time: caches and pools have filled."""
GROWTH_MAX = 64 * 1024 * 1024
OUTPUT_MAX = 64 * 1024 * 1024
"""Of log lines: a caller must not be able to fill the disk."""
SAID_EVERY_S = 10.0
ENOUGH = 100_000
"""With fewer malformed requests, chance may leave out a route."""
NOT_MALFORMED = ("gotrueLogout",)
"""No person signs out here, or most of their requests would be 401."""


@click.command(context_settings={"show_default": True})
@click.option("--requests", default=100_000, help="How many malformed requests and frames.")
@click.option(
    "--examples", default=20, help="How many requests made up from the contract, of each mode for each operation."
)
@click.option("--clients", default=24, help="How many send at once.")
@click.option("--minutes", default=60.0, help="The most that the malformed requests may take.")
@click.option("--seed", default=None, help="That of an earlier run, to repeat it.")
@click.option("--keep", is_flag=True, help="Leave the folder with the log.")
def main(**options) -> None:
    sys.exit(uvloop.run(fuzz(**options)))


async def fuzz(requests, examples, clients, minutes, seed, keep) -> int:
    seed = seed or secrets.token_hex(4)
    folder = Path(tempfile.mkdtemp(prefix="drover-fuzz-"))
    say(f"seed {seed}; log in {folder}")
    platform = Platform(folder / "data", environ=ENVIRON)
    wrong: list[str] = []
    try:
        target = Target(platform)
        await target.prepare()
        before = platform.rss_bytes
        findings = await interview(target, examples, seed)
        wrong += [f"{key}\n{shown}" for key, shown in findings.faults.items()]
        if (growth := await settled(lambda: platform.rss_bytes) - before) > GROWTH_MAX:
            wrong.append(f"memory grew by {growth / 1e6:.0f} MB with requests from the contract")
        await target.look_around()
        tally, seconds, growth = await bombard(target, requests, clients, minutes * 60, seed)
        wrong += tally.faults
        wrong += [f"never reached: {name}" for name in unreached(findings, tally)]
        if tally.total < requests:
            wrong.append(f"only {tally.total:,} of {requests:,} requests within {minutes:g} minutes")
        if growth > GROWTH_MAX:
            wrong.append(f"memory grew by {growth / 1e6:.0f} MB")
        if (size := len(platform.output)) > OUTPUT_MAX:
            wrong.append(f"the log has {size / 1e6:.0f} MB")
        try:
            await target.still_works()
        except AssertionError as error:
            wrong.append(f"afterwards: {error}")
        figures = report(seed, findings, tally, seconds, growth, platform, wrong)
        write(figures)
    finally:
        await platform.end()
        if not keep and not wrong:
            shutil.rmtree(folder, ignore_errors=True)
    for one in wrong:
        say(f"WRONG: {one}")
    say("no fault found" if not wrong else f"{len(wrong)} faults; the log is in {folder}")
    return 1 if wrong else 0


def unreached(findings: Findings, tally: Tally) -> list[str]:
    """Return the operations of the document that no request got through to."""
    routes = operations(openapi_document())
    both = {name: findings.answers[name] + tally.answers[name] for name in (one.name for one in routes)}
    missed = set(not_reached(routes, both))
    if tally.total >= ENOUGH:
        missed |= {
            f"{name} (by malformed requests)" for name in not_reached(routes, tally.answers, spared=NOT_MALFORMED)
        }
    return sorted(missed)


async def interview(target: Target, examples: int, seed: str) -> Findings:
    """In a thread: schemathesis is synchronous."""
    loop = asyncio.get_running_loop()

    def ask() -> Findings:
        callers = asyncio.run_coroutine_threadsafe
        interviewer = Interviewer(target, lambda: callers(target.callers(), loop).result())
        return interviewer.ask_all(examples, seed=int(seed, 16))

    began = time.monotonic()
    findings = await asyncio.to_thread(ask)
    statuses = dict(sorted(findings.statuses.items()))
    say(f"{findings.requests:,} requests from the contract in {time.monotonic() - began:.0f} s: {statuses}")
    return findings


async def bombard(target: Target, requests: int, clients: int, within_s: float, seed: str) -> tuple[Tally, float, int]:
    """Send so many. Returns what came of it, how long it took, and by how much memory has grown since the warm-up."""
    tally = Tally()
    routes = operations(openapi_document())
    callers = await target.callers()
    attackers = [
        Attacker(target.platform.port, routes, callers, tally, seed=f"{seed}-{number}", known=target.known_ids)
        for number in range(clients)
    ]
    began = time.monotonic()
    before = 0
    for until in (int(requests * WARM_UP), requests):
        work = asyncio.gather(*(one.attack(until) for one in attackers))
        watch = asyncio.create_task(watched(target, attackers, tally, began))
        try:
            async with asyncio.timeout(within_s):
                await work
        except TimeoutError:
            pass
        finally:
            watch.cancel()
        seconds = time.monotonic() - began
        after = await settled(lambda: target.platform.rss_bytes)
        before = before or after
    return tally, seconds, after - before


async def watched(target: Target, attackers: list[Attacker], tally: Tally, began: float) -> None:
    """Say how it goes, and what was found. Get a new token if the admin's has expired, or a request has ended its
    session."""
    said = len(tally.faults)
    while True:
        await asyncio.sleep(SAID_EVERY_S)
        rate = tally.total / (time.monotonic() - began)
        memory = target.platform.rss_bytes / 1e6
        say(f"{tally.total:,} requests, {rate:,.0f}/s, {memory:.0f} MB, {len(tally.faults)} faults")
        for fault in tally.faults[said:]:
            say(f"found: {fault}")
        said = len(tally.faults)
        try:
            await target.look_around()
            callers = await target.callers()
        except (AssertionError, KeyError, TypeError, aiohttp.ClientError) as error:
            say(f"not looked around this time: {error!r:.200}")  # a request has just ended the admin's session
            continue
        for one in attackers:
            one.meet(callers)


def report(seed, findings, tally, seconds, growth, platform, wrong) -> dict:
    figures = {
        "seed": seed,
        "contract": {"requests": findings.requests, "statuses": dict(sorted(findings.statuses.items()))},
        "malformed": {
            "requests": tally.total,
            "per_s": round(tally.total / seconds),
            "kinds": dict(sorted(tally.sent.items())),
            "statuses": dict(sorted(tally.statuses.items())),
            "unavailable": tally.unavailable,
        },
        "routes": {
            name: {"contract": dict(findings.answers[name]), "malformed": dict(tally.answers[name])}
            for name in (one.name for one in operations(openapi_document()))
        },
        "memory_growth_bytes": growth,
        "log_bytes": len(platform.output),
        "wrong": wrong,
    }
    say("Requests from the contract, malformed ones, and the answers to both:")
    for line in lines(operations(openapi_document()), findings.answers, tally.answers):
        say(line)
    say(json.dumps(figures["malformed"]))
    say(f"memory grew by {growth / 1e6:.1f} MB; {figures['log_bytes'] / 1e6:.1f} MB of log lines")
    return figures


def write(figures: dict) -> None:
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(figures, indent=2) + "\n")


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
