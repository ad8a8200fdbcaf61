"""Every extension point of docs/guides/extend.md has an example, and each example does what it says."""

from __future__ import annotations

import importlib.util
import re
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "extend").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_extension_does_what_it_says(path, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    spec = importlib.util.spec_from_file_location(f"extend_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(__import__("sys").modules, spec.name, module)
    spec.loader.exec_module(module)
    module.main()
    printed = dict(line.rsplit(": ", 1) for line in capsys.readouterr().out.splitlines())
    expected = {"rows": "144", "without a battery": "212000.00", "with a battery of 20 MW": "137000.00"}
    assert len(printed) >= 1
    for what, value in printed.items():
        assert value == expected.get(what, "True"), what


def test_the_page_names_every_example():
    page = (ROOT / "docs" / "guides" / "extend.md").read_text()
    linked = set(re.findall(r"\(\.\./\.\./examples/extend/(\w+\.py)\)", page))
    assert linked == {path.name for path in EXAMPLES}
