"""`make screenshots`: every screen with the demo running, light, dark, Korean and on a phone, for the documents."""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from PIL import Image
from playwright.async_api import Browser, Page

from drover.testing.waiting import eventually
from tests.browser.alert import raise_alert
from tests.browser.chromium import PHONE, SIZE, chromium
from tests.browser.person import SCREENS, Person
from tests.e2e.client import Http, calling
from tests.e2e.up import Platform

FOLDER: Final = Path(__file__).parents[2] / "docs" / "screenshots"
MOVES_WITHIN_S: Final = 900.0
FOUND_WITHIN_S: Final = 300.0
COLOURS: Final = 256
"""In a picture. The dashboard has few; the file is a third of what it would be."""
EXACT_COLOURS: Final = 192
SETTLED_MS: Final = 1200
"""After the last read: for charts to be drawn, and bars to have come to where they belong."""
GATHERED_MS: Final = 45_000
"""The overview draws what it hears from when it is opened."""
MANY: Final = 24
MANY_WITHIN_MS: Final = 240_000

# How each set of pictures is looked at.
LOOKS: Final = {
    "light": {"drover.theme": "light", "drover.language": "en"},
    "dark": {"drover.theme": "dark", "drover.language": "en"},
    "ko": {"drover.theme": "light", "drover.language": "ko"},
    "phone": {"drover.theme": "light", "drover.language": "en"},
    "phone-dark": {"drover.theme": "dark", "drover.language": "ko"},
}
# At a desk, and on a phone.
DESK: Final = ("light", "dark", "ko")
HAND: Final = ("phone", "phone-dark")
CAPTIONS: Final = {
    "light": "light",
    "dark": "dark",
    "ko": "Korean",
    "phone": "on a phone",
    "phone-dark": "on a phone, dark, Korean",
}

# What of each relation must be there before a picture is worth taking.
MOVING: Final = {
    "jobs": ("status=eq.completed", 4),
    "job_assignments": ("status=eq.running", 5),
    "render_queue": ("status=eq.completed", 2),
    "saju_tests": ("status=eq.completed", 3),
    "alarm": ("sent_count=gt.0", 3),
}

Prepare = Callable[[Page], Awaitable[Any]]


async def _nothing(page: Page) -> None:
    return None


async def _many_at_work(page: Page) -> None:
    """A job for few phones may just be active; the next one is for many."""
    enough = f"() => document.querySelectorAll('.phone[data-shown=busy]').length >= {MANY}"
    await page.wait_for_function(enough, timeout=MANY_WITHIN_MS)


async def _open_menu(page: Page) -> None:
    await page.locator("header button[aria-label*='@']").click()


@dataclass(frozen=True, slots=True)
class Shot:
    name: str
    path: str
    says: str
    """Under the picture."""
    prepare: Prepare = _nothing
    is_signed_in: bool = True


async def shots(http: Http) -> list[Shot]:
    """What there is to see now: a phone at work, a job that waits, a render under way."""

    async def first(relation: str, query: str) -> dict[str, Any]:
        """As soon as there is one: between two jobs no phone works, and nothing waits for long."""

        async def rows() -> list[dict[str, Any]]:
            return (await http.get(f"/rest/v1/{relation}?{query}&limit=1")).json

        return (await eventually(rows, FOUND_WITHIN_S, every_s=0.5))[0]

    phone = (await first("job_assignments", "status=eq.running"))["device_id"]
    waiting = (await first("jobs", "status=eq.created&order=created_at.desc"))["id"]
    render = (await first("render_queue", "status=eq.completed&order=completed_at.desc"))["id"]
    event = await first("events", "type=eq.AttemptSucceeded&order=at.desc")
    then = (datetime.now(UTC) - timedelta(minutes=4)).strftime("%Y-%m-%dT%H:%M:%SZ")
    by_name = {name: Shot(name, path, TEXTS[name]) for name, path in SCREENS.items()}
    return [
        Shot("sign-in", "/sign-in", "Sign in.", is_signed_in=False),
        replace(by_name["overview"], prepare=lambda page: page.wait_for_timeout(GATHERED_MS)),
        replace(by_name["fleet"], prepare=_many_at_work),
        Shot("phone", f"/fleet?device={phone}", "A phone: what it does, why, its day and every attempt."),
        by_name["queue"],
        Shot("job", f"/queue?job={waiting}", "A job that waits, and why."),
        Shot("new-job", "/queue?new=true", "A new job."),
        Shot("new-render", "/renders?new=true", "A new render."),
        by_name["renders"],
        Shot("render", f"/renders?render={render}", "A render: its stages, its attempts and the finished file."),
        Shot("mapping", "/renders?view=mapping&map=chip_count", "Which field of a template gets which value."),
        by_name["analyses"],
        by_name["reminders"],
        by_name["events"],
        Shot("audit", "/audit", "Who read and changed what, and from where."),
        Shot(
            "event",
            f"/events?event=fleet%3D{event['seq']}.{event['line']}",
            "One event: what caused it, and what came of it.",
        ),
        # By now the one from the beginning may be over.
        replace(by_name["alerts"], prepare=lambda page: raise_alert(http)),
        by_name["system"],
        Shot("time-machine", f"/fleet?as_of={then}", "The time machine: Fleet as it was four minutes ago."),
        Shot("menu", "/", "Who is signed in, colours and language.", prepare=_open_menu),
        Shot("palette", "/", "Everything by its name.", prepare=lambda page: page.keyboard.press("Control+k")),
        Shot("keyboard", "/", "All keys.", prepare=lambda page: page.keyboard.press("?")),
    ]


TEXTS: Final = {
    "overview": "What runs now, what waits, what went wrong.",
    "fleet": "Every PC as a rack of its phones.",
    "queue": "The job that is active, those that wait, those that have ended.",
    "renders": "Renders by stage.",
    "analyses": "Analyses: under way, stalled, cleaned.",
    "reminders": "Reminders by local time.",
    "events": "The log as it grows.",
    "alerts": "What needs a person, and what to do.",
    "system": "Services, who leads, how far behind, and people.",
}


async def take(browser: Browser, url: str, credentials: dict[str, str], look: str, wanted: list[Shot]) -> None:
    folder = FOLDER / look
    folder.mkdir(parents=True, exist_ok=True)
    context = await browser.new_context(
        **(PHONE if look in HAND else {"viewport": SIZE}),
        locale="en-GB",
        reduced_motion="reduce",
        timezone_id="Asia/Seoul",
    )
    await context.add_init_script(f"Object.assign(localStorage, {json.dumps(LOOKS[look])})")
    page = await context.new_page()
    person = Person(url, context, page)
    signed_in = False
    for shot in wanted:
        if shot.is_signed_in and not signed_in:
            await person.sign_in(credentials["admin_email"], credentials["admin_password"])
            signed_in = True
        await person.open(shot.path)
        await person.is_there()
        await page.wait_for_timeout(SETTLED_MS)
        await shot.prepare(page)
        await page.wait_for_timeout(SETTLED_MS)
        (folder / f"{shot.name}.png").write_bytes(small(await page.screenshot()))
        print(f"{look}/{shot.name}.png", flush=True)
    await context.close()


def small(png: bytes) -> bytes:
    """The same picture with a palette: the colours that cover most of it stay exactly as they are."""
    picture = Image.open(BytesIO(png)).convert("RGB")
    by_count = [colour for _, colour in sorted(picture.getcolors(picture.width * picture.height), reverse=True)]
    palette, rest = by_count[:EXACT_COLOURS], by_count[EXACT_COLOURS:]
    place = {colour: at for at, colour in enumerate(palette)}
    if rest:
        line = Image.new("RGB", (len(rest), 1))
        line.putdata(rest)
        near = line.quantize(COLOURS - EXACT_COLOURS, method=Image.Quantize.MAXCOVERAGE)
        place |= {colour: EXACT_COLOURS + at for colour, at in zip(rest, near.getdata(), strict=True)}
        values = near.getpalette() or []
        palette += [tuple(values[at : at + 3]) for at in range(0, len(values), 3)]
    out = BytesIO()
    indexed = Image.new("P", picture.size)
    indexed.putdata([place[colour] for colour in picture.getdata()])
    indexed.putpalette([value for colour in palette for value in colour])
    indexed.save(out, "PNG", optimize=True)
    return out.getvalue()


async def everything_moves(http: Http) -> None:
    async def moves() -> bool:
        for relation, (query, least) in MOVING.items():
            if len((await http.get(f"/rest/v1/{relation}?{query}&limit={least}")).json) < least:
                return False
        return True

    await eventually(moves, MOVES_WITHIN_S, every_s=2.0)


@asynccontextmanager
async def demo() -> AsyncIterator[tuple[str, Path]]:
    with tempfile.TemporaryDirectory(prefix="drover-demo-") as folder:
        platform = Platform(Path(folder) / "data", "--demo", environ={"DROVER_INSTANCE": "farm"})
        try:
            await platform.ready()
            yield platform.url, platform.data_dir
        finally:
            await platform.end()


@asynccontextmanager
async def running(url: str, data_dir: Path) -> AsyncIterator[tuple[str, Path]]:
    yield url, data_dir


def write_page(all_shots: list[Shot]) -> None:
    lines = ["# The dashboard", "", "With `make demo` running. Taken by `make screenshots`; do not edit by hand.", ""]
    for shot in all_shots:
        title = shot.name.replace("-", " ").capitalize()
        lines += [f"## {title}", "", shot.says, ""]
        for looks in (DESK, HAND):
            lines += [
                "| " + " | ".join(CAPTIONS[look] for look in looks) + " |",
                "|" + "---|" * len(looks),
                "| " + " | ".join(f"![{title}, {CAPTIONS[look]}]({look}/{shot.name}.png)" for look in looks) + " |",
                "",
            ]
    (FOLDER / "README.md").write_text("\n".join(lines))


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="of a demo that runs already; with --data-dir")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--look", choices=LOOKS, action="append")
    parser.add_argument("--only", action="append", help="name of a picture")
    options = parser.parse_args()
    source = demo() if options.url is None else running(options.url, options.data_dir)
    async with source as (url, data_dir), chromium() as browser:
        keys = json.loads((data_dir / "credentials.json").read_text())
        async with calling(keys["url"], keys["anon_key"], keys["service_key"]) as http:
            await everything_moves(http)
            for look in options.look or LOOKS:
                await raise_alert(http)
                all_shots = await shots(http)
                wanted = [shot for shot in all_shots if options.only is None or shot.name in options.only]
                await take(browser, url, keys, look, wanted)
            write_page(all_shots)


if __name__ == "__main__":
    asyncio.run(main())
