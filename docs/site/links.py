"""Checks the built site: links and pictures lead to files, anchors exist, nothing is loaded from elsewhere."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
OF_NO_EFFECT = {"canonical", "next", "prev"}


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attributes if value is not None}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if values.get("rel") in OF_NO_EFFECT or tag not in LOADED:
            return
        if address := values.get(LOADED[tag]):
            self.loaded.append(address)


def problems(site: Path) -> list[str]:
    """What is wrong with the links of a built site, one line each."""
    pages = {path: _read(path) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        if path.name == "404.html":
            continue  # its addresses begin at the site's own
        where = path.relative_to(site)
        for address in page.loaded:
            if urlsplit(address).netloc:
                found.append(f"{where}: loads {address} from elsewhere")
        for address in (*page.links, *page.loaded):
            if reason := _broken(address, path, pages, site):
                found.append(f"{where}: {address}: {reason}")
    return found


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _broken(address: str, path: Path, pages: dict[Path, _Page], site: Path) -> str | None:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return None
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
    if target.is_dir():
        target /= "index.html"
    if not target.is_relative_to(site.resolve()):
        return "outside the site"
    if not target.is_file():
        return "no such file"
    anchor = unquote(parts.fragment)
    page = pages.get(site / target.relative_to(site.resolve()))
    return f"no anchor {anchor!r}" if anchor and page is not None and anchor not in page.anchors else None
