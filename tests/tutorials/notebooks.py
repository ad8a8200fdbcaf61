"""Tutorials as notebooks: the pages of ``docs/tutorials`` cell by cell.

python tests/tutorials/notebooks.py                    writes docs/tutorials/*.ipynb anew, without outputs
python tests/tutorials/notebooks.py --run FOLDER       runs all of them, and writes them with their outputs there
python tests/tutorials/notebooks.py --run FOLDER NAME  runs one
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
from pathlib import Path

PAGES = Path(__file__).resolve().parents[2] / "docs" / "tutorials"
NAMES = ("first-study", "history-to-report", "own-algorithm", "cluster")
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
CELL_TIMEOUT_S = 300


def cells_of(page):
    """Kind and text of each cell: the Python blocks of a page, and what stands between them."""
    found, place = [], 0
    for block in PYTHON_BLOCK.finditer(page):
        found += [("markdown", page[place : block.start()]), ("code", block[1])]
        place = block.end()
    found.append(("markdown", page[place:]))
    return [(kind, text.strip("\n")) for kind, text in found if text.strip()]


def notebook_of(name):
    """The notebook of a page, as data."""
    cells = []
    for number, (kind, text) in enumerate(cells_of((PAGES / f"{name}.md").read_text(encoding="utf-8"))):
        cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        cells.append({**cell, "source": text.splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def text_of(notebook):
    """As Jupyter writes it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def path_of(name):
    """Where the notebook of a page is stored."""
    return PAGES / f"{name}.ipynb"


def execute(path, folder):
    """The notebook in ``path`` with its outputs, run by Jupyter's kernel in ``folder``."""
    import nbformat
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    with tempfile.TemporaryDirectory(dir="/tmp") as private:  # sockets: their paths must be short
        os.environ |= {"JUPYTER_RUNTIME_DIR": private, "IPYTHONDIR": private, "JUPYTER_CONFIG_DIR": private}
        manager = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=f"{private}/kernel")
        NotebookClient(
            notebook, km=manager, timeout=CELL_TIMEOUT_S, resources={"metadata": {"path": str(folder)}}
        ).execute()
    return notebook


def main():
    """Write the notebooks, or run them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", metavar="FOLDER", type=Path)
    parser.add_argument("names", metavar="NAME", nargs="*")
    options = parser.parse_args()
    for name in options.names or NAMES:
        if options.run is None:
            path_of(name).write_text(text_of(notebook_of(name)), encoding="utf-8")
        else:
            import nbformat

            options.run.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory() as folder:
                nbformat.write(execute(path_of(name), folder), options.run / f"{name}.ipynb")


if __name__ == "__main__":
    main()
