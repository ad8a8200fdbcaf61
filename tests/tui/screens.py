"""What a Textual app shows, as rows of text."""

from __future__ import annotations

import asyncio
import html
import re
import time
from collections import defaultdict

import cobre.tui.app
from cobre.tui.app import RunApp

DEADLINE_S = 30.0
TEXT = re.compile(
    r'<text class="[^"]*" x="([\d.]+)" y="[\d.]+"[^>]*clip-path="url\(#[^"]*line-(\d+)\)">(.*?)</text>'
)


def rows_of(app: RunApp) -> list[str]:
    """The rows of the screen, without trailing blanks."""
    parts = defaultdict(list)
    for x, number, text in TEXT.findall(app.export_screenshot()):
        parts[int(number)].append((float(x), html.unescape(text).replace("\xa0", " ")))
    return ["".join(text for _, text in sorted(parts[number])).rstrip() for number in range(max(parts) + 1)]


def drive(app: RunApp, steps, size=(80, 24)):
    """Run ``await steps(pilot, wait)`` on an app; ``wait(words)`` returns the rows when they hold these words.

    Notes stay until the next one: on a busy machine they might be gone before a test looks.
    """
    note_s, cobre.tui.app.NOTE_S = cobre.tui.app.NOTE_S, 600.0

    async def run():
        async with app.run_test(size=size) as pilot:

            async def wait(words, absent=None):
                end = time.monotonic() + DEADLINE_S
                while True:
                    await pilot.pause(0.02)
                    rows = rows_of(app)
                    text = "\n".join(rows)
                    if words in text and (absent is None or absent not in text):
                        return rows
                    assert time.monotonic() < end, f"{words!r} is not in\n{text}"

            await steps(pilot, wait)

    try:
        asyncio.run(run())
    finally:
        cobre.tui.app.NOTE_S = note_s
