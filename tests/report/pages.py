"""Reads pages as a browser would: their tables, and the packed pages of plants."""

from __future__ import annotations

import base64
import re
import zlib
from html.parser import HTMLParser

NUMBERS = str.maketrans({",": None})


class Page(HTMLParser):
    """Tables by their caption: a list of rows of texts, the headings first."""

    def __init__(self, text):
        super().__init__()
        self.text = text
        self.tables = {}
        self.tags = []
        self.texts = []
        self._caption = None
        self._rows = []
        self._cell = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "table":
            self._rows = []
        elif tag == "caption":
            self._caption = ""
            self._cell = "caption"
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("th", "td"):
            self._rows[-1].append("")
            self._cell = tag

    def handle_endtag(self, tag):
        if tag in ("caption", "th", "td", "tr"):
            self._cell = None
        elif tag == "table":
            self.tables[self._caption] = self._rows

    def handle_data(self, data):
        self.texts.append(data)
        if self._cell == "caption":
            self._caption += data
        elif self._cell is not None:
            self._rows[-1][-1] += data

    def column(self, caption, heading):
        """The numbers of a column, by the name of their row."""
        head, *rows = self.tables[caption]
        place = head.index(heading)
        return {row[0]: value_of(row[place]) for row in rows}


def value_of(text):
    return float("nan") if text == "–" else float(text.translate(NUMBERS))


def plant_page(text, plant):
    """The page of a plant, unpacked as the script does."""
    packed = re.search(rf'data-plant="{plant}">([^<]*)<', text)[1]
    return Page(zlib.decompress(base64.b64decode(packed)).decode())


def six_digits(value):
    """What the page shows of a number."""
    return float(f"{value:.6g}")
