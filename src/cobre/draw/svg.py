"""SVG documents: the element around a drawing, the area for its values, and the axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cobre.draw.figures import pixels
from cobre.draw.places import Places
from cobre.draw.scale import Scale
from cobre.draw.text import escape, visible

NO_VALUES = "no values"
LONGEST_LABEL = 60
LONGEST_SENTENCE = 600


@dataclass(frozen=True)
class Area:
    """A drawing and the rectangle in it that holds the values."""

    width: float = 640.0
    height: float = 240.0
    left: float = 64.0
    right: float = 26.0
    top: float = 22.0
    bottom: float = 40.0

    def x(self, share: float) -> float:
        """Pixels from the left of a share of the width."""
        return self.left + share * (self.width - self.left - self.right)

    def y(self, share: float) -> float:
        """Pixels from the top of a share of the height, which counts from below."""
        return self.height - self.bottom - share * (self.height - self.top - self.bottom)


def document(area: Area, title: str, description: str, parts: Sequence[str], reader: str = "") -> str:
    """The drawing; ``title`` and ``description`` are read aloud. ``reader``: attributes for scripts."""
    size = f"{pixels(area.width)} {pixels(area.height)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img"{reader}>'
        f"<title>{escape(visible(title))}</title><desc>{escape(visible(description, LONGEST_SENTENCE))}</desc>"
        f"{''.join(parts)}</svg>"
    )


def empty_document(area: Area, title: str) -> str:
    """A drawing that says that there is nothing to draw."""
    note = text(area.width / 2, area.height / 2, NO_VALUES, "middle")
    return document(area, title, NO_VALUES, [note])


def text(x: float, y: float, content: str, anchor: str = "start", extra: str = "") -> str:
    """One line of text."""
    place = f'x="{pixels(x)}" y="{pixels(y)}"'
    end = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f"<text {place}{end}{extra}>{escape(visible(content, LONGEST_LABEL))}</text>"


def reading(area: Area, places: Places) -> str:
    """Attributes by which a script finds the value under the pointer; the values stand in the table."""
    ends = f' data-left="{pixels(area.x(0.0))}" data-right="{pixels(area.x(1.0))}"'
    if places.is_even:
        return f'{ends} data-n="{len(places.at)}" data-margin="{int(places.has_margins)}"'
    return f'{ends} data-at="{" ".join(f"{share:.4g}" for share in places.at)}"'


def axes(area: Area, places: Places, scale: Scale, y_label: str) -> list[str]:
    """Grid lines with their values, labels of the places, and what both axes are."""
    left, right, bottom = area.x(0.0), area.x(1.0), area.y(0.0)
    lines = "".join(
        f"M{pixels(left)} {pixels(area.y(scale.share(tick)))}H{pixels(right)}" for tick in scale.ticks
    )
    parts = [f'<path class="grid" d="{lines}"/>']
    if scale.low < 0.0 < scale.high:
        parts.append(
            f'<path class="axis" d="M{pixels(left)} {pixels(area.y(scale.share(0.0)))}H{pixels(right)}"/>'
        )
    marks = "".join(f"M{pixels(area.x(share))} {pixels(bottom)}v4" for share, _ in places.ticks)
    parts.append(f'<path class="axis" d="M{pixels(left)} {pixels(bottom)}H{pixels(right)}{marks}"/>')
    texts, base = scale.texts()
    for tick, label in zip(scale.ticks, texts, strict=True):
        parts.append(text(left - 6, area.y(scale.share(tick)) + 4, label, "end"))
    for share, label in places.ticks:
        parts.append(text(area.x(share), bottom + 16, label, "middle"))
    parts.append(text(area.x(0.5), area.height - 6, _counted_from(places.base, places.label), "middle"))
    parts.append(text(4, 13, _counted_from(base, y_label)))
    return parts


def _counted_from(base: str, label: str) -> str:
    return f"{label} above {base}" if base else label
