"""The report of a run: one page for any browser, without network, with a table behind every chart.

Sections ask `cobre.study.queries` for numbers and `cobre.draw` for pictures. Equal results give equal bytes.
"""

from __future__ import annotations

from cobre.report.page import SECTIONS, html_report, write_report

__all__ = ["SECTIONS", "html_report", "write_report"]
