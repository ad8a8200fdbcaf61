"""Tutorials: the stored notebooks are those of the pages, and Jupyter's kernel runs each from top to bottom."""

from __future__ import annotations

import json
import sys

import pytest

from commands import run_command
from tutorials import notebooks
from tutorials.notebooks import NAMES, PAGES, cells_of, notebook_of, path_of, text_of

SHOWN = {
    "first-study": ["Cascades", "Bounds by iteration", "Stored energy"],
    "history-to-report": ["Cuts by stage"],
    "own-algorithm": [],
    "cluster": [],
}
"""Pictures that cells of each notebook end with, in their order."""


def test_every_page_has_a_notebook():
    pages = {path.stem for path in PAGES.glob("*.md")} - {"README"}
    assert pages == set(NAMES)
    assert {path.stem for path in PAGES.glob("*.ipynb")} == pages


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_notebook_is_its_page(name):
    assert path_of(name).read_text(encoding="utf-8") == text_of(notebook_of(name)), (
        "a tutorial has changed: run python tests/tutorials/notebooks.py and commit the notebooks"
    )


def test_blocks_of_python_become_cells_and_others_stay_text():
    page = (
        "# Title\n\n```python\na = 1\n\nb = 2\n```\n\nWords\n\n```sh\ncobre run\n```\n\n```python\nb\n```\n"
    )
    assert cells_of(page) == [
        ("markdown", "# Title"),
        ("code", "a = 1\n\nb = 2"),
        ("markdown", "Words\n\n```sh\ncobre run\n```"),
        ("code", "b"),
    ]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_and_shows_its_pictures(name, tmp_path):
    # In a process of its own: whatever Jupyter's client leaves open ends with it.
    words = [sys.executable, notebooks.__file__, "--run", tmp_path, name]
    done = run_command(words, timeout=500)
    assert done.returncode == 0, done.stderr
    notebook = json.loads((tmp_path / f"{name}.ipynb").read_text(encoding="utf-8"))
    outputs = [each for cell in notebook["cells"] for each in cell.get("outputs", [])]
    assert not [each for each in outputs if each["output_type"] == "error"]
    pictures = ["".join(each["data"]["text/html"]) for each in outputs if "text/html" in each.get("data", {})]
    places = [next((k for k, text in enumerate(pictures) if title in text), None) for title in SHOWN[name]]
    assert None not in places
    assert places == sorted(places)
    assert all("<script" not in text for text in pictures)
    # What cells print to people is words and numbers: no warning of a library.
    assert not [each["text"] for each in outputs if each.get("name") == "stderr"]
