"""Colours, dashes and sizes of everything drawn, as one style sheet below the class ``cobre``.

Colours are those of Okabe and Ito, darkened for lines on white and lightened for lines on black; series differ by
dashes as well. Shades of heat maps follow cividis, which looks the same to most colour-blind eyes; differences have two
colours, blue and orange, which those eyes tell apart.
"""

from __future__ import annotations

LIGHT = ("#0072b2", "#c24e00", "#007a59", "#a6447f", "#2f7fb0", "#8a6000", "#5f5f5f", "#6b6500")
DARK = ("#56b4e9", "#ff9a52", "#2fd0a3", "#e8a3cc", "#9bd3f3", "#f2b93b", "#b8b8b8", "#f0e442")
FORCED = ("CanvasText", "LinkText", "GrayText", "Highlight")
DASHES = ("none", "7 3", "2 3", "9 3 2 3", "5 2", "1 4", "12 4", "4 4")
SHADES = (
    "#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838",
)  # fmt: skip
SIGNED_SHADES = (
    "#08519c", "#2f7fc1", "#6aaed8", "#a6cde6", "#d9e8f3", "#fbe6d0", "#fdc38d", "#f4924a", "#d95f0e", "#993404",
)  # fmt: skip
"""Of differences: blue below zero, orange above it, pale near it."""


def _variables(colours: tuple[str, ...], paper: str, ink: str, faint: str, grid: str, panel: str) -> str:
    named = "".join(f"--c{k}:{colours[k % len(colours)]};" for k in range(len(LIGHT)))
    return f"{named}--paper:{paper};--ink:{ink};--faint:{faint};--grid:{grid};--panel:{panel};"


LIGHT_VARIABLES = _variables(LIGHT, "#fff", "#1a1a1a", "#595959", "#dcdcdc", "#f6f6f4")
DARK_VARIABLES = _variables(DARK, "#161616", "#f0f0f0", "#b4b4b4", "#3c3c3c", "#222")
_FORCED = _variables(FORCED, "Canvas", "CanvasText", "CanvasText", "GrayText", "Canvas")
_SERIES = "".join(
    f".cobre .s{k}{{stroke:var(--c{k});stroke-dasharray:{dash}}}.cobre .f{k}{{fill:var(--c{k})}}"
    for k, dash in enumerate(DASHES)
)
# A shade at the edge behind which more is hidden; at the end of the way a patch of paper that moves along covers it.
_MORE = (
    "background:linear-gradient(90deg,var(--paper) 50%,transparent) 0 0/3em 110% no-repeat local,"
    "linear-gradient(270deg,var(--paper) 50%,transparent) 100% 0/3em 110% no-repeat local,"
    "linear-gradient(90deg,var(--faint),transparent) left/.7em 100% no-repeat scroll,"
    "linear-gradient(270deg,var(--faint),transparent) right/.7em 100% no-repeat scroll"
)
_SHADES = "".join(
    f".cobre .{kind}{k}{{fill:{shade}}}"
    for kind, shades in (("h", SHADES), ("d", SIGNED_SHADES))
    for k, shade in enumerate(shades)
)

STYLE = (
    f".cobre{{{LIGHT_VARIABLES}color:var(--ink);background:var(--paper);font:15px/1.45 system-ui,sans-serif}}"
    f"@media (prefers-color-scheme:dark){{.cobre{{{DARK_VARIABLES}}}}}"
    f"@media print{{.cobre{{{LIGHT_VARIABLES}}}}}"
    f"@media (forced-colors:active){{.cobre{{{_FORCED}}}.cobre svg{{forced-color-adjust:none}}}}"
    f"{_SERIES}{_SHADES}"
    ".cobre svg text{fill:var(--ink);font:11px system-ui,sans-serif;unicode-bidi:isolate;"
    "paint-order:stroke;stroke:var(--paper);stroke-width:2.5px;stroke-linejoin:round}"
    ".cobre svg .note{fill:var(--faint);font-size:9.5px}"
    ".cobre .line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}"
    ".cobre .thin{stroke-width:1;opacity:.7}"
    ".cobre .beside{stroke-width:2.5;stroke-dasharray:0 6}"
    ".cobre .band{fill-opacity:.2}.cobre .band.strong{fill-opacity:.38}"
    ".cobre .bar{stroke:var(--paper);stroke-width:.5}"
    ".cobre .grid{fill:none;stroke:var(--grid)}.cobre .axis{fill:none;stroke:var(--faint)}"
    ".cobre .link{fill:none;stroke:var(--c0);stroke-width:1.5}.cobre .link.strong{stroke:var(--c1);stroke-width:2.5}"
    ".cobre .box{fill:var(--panel);stroke:var(--faint)}"
    ".cobre figure{margin:1.2em 0;max-width:60em}.cobre figcaption h3{margin:0;font-size:1.05em}"
    ".cobre figcaption,.cobre summary,.cobre .legend li,.cobre .cards dd,.cobre p{overflow-wrap:anywhere}"
    ".cobre figcaption p{margin:.1em 0 .4em;color:var(--faint)}"
    f"@media screen{{.cobre .plot,.cobre .scroll{{{_MORE}}}}}"
    ".cobre .plot{overflow-x:auto}.cobre .plot svg{display:block;width:100%;min-width:30em;height:auto}"
    ".cobre .swatch{width:28px;height:14px;vertical-align:middle;margin-right:.4em}"
    ".cobre .legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2em 1.2em;margin:.3em 0;padding:0}"
    ".cobre .legend li{margin:0}"
    ".cobre .cards{display:flex;flex-wrap:wrap;gap:.6em;margin:.8em 0}"
    ".cobre .cards div{background:var(--panel);border:1px solid var(--grid);border-radius:4px;padding:.4em .8em}"
    ".cobre .cards dt{color:var(--faint);font-size:.85em}.cobre .cards dd{margin:0;font-weight:600}"
    ".cobre .scroll{overflow:auto;max-height:26em}.cobre summary{cursor:pointer}"
    ".cobre table{border-collapse:collapse;font-size:.85em;font-variant-numeric:tabular-nums;color:inherit}"
    ".cobre caption{text-align:left;color:var(--faint)}"
    ".cobre th,.cobre td{padding:.15em .6em;text-align:right;border-bottom:1px solid var(--grid)}"
    ".cobre tbody th{font-weight:normal;text-align:left;overflow-wrap:break-word;max-width:30em}"
    ".cobre thead th{vertical-align:bottom;overflow-wrap:break-word;max-width:14em}"
    ".cobre th.words,.cobre td.words{text-align:left}"
    ".cobre .scroll.prose{max-height:none}"
    ".cobre .prose td,.cobre .prose th{text-align:left;overflow-wrap:break-word;max-width:40em}"
)


def fragment(content: str) -> str:
    """HTML that brings its style along and can stand in any page, for notebooks. It has no scripts."""
    return f'<div class="cobre"><style>{STYLE}</style>{content}</div>'
