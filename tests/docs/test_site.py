"""The pages of the documentation site are gathered with working links, and a broken link is found."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import yaml

from cobre.cli import COMMANDS

ROOT = Path(__file__).parents[2]


def load(name):
    spec = importlib.util.spec_from_file_location(f"site_{name}", ROOT / "docs" / "site" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


links, pages, reference = load("links"), load("pages"), load("reference")


@pytest.fixture
def site(tmp_path):
    """A built site of two pages; the text of the first one's body is the test's."""

    def write(body):
        (tmp_path / "a.html").write_text(f"<html><body>{body}</body></html>")
        (tmp_path / "b.html").write_text('<h1 id="here">B</h1><a name="there">x</a>')
        return links.problems(tmp_path)

    return write


@pytest.mark.parametrize(
    "address", ["b.html", "b.html#here", "b.html#there", "a.html", "https://example.org/x"]
)
def test_a_link_that_leads_somewhere_is_no_problem(site, address):
    assert site(f'<a href="{address}">x</a>') == []


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('<a href="c.html">x</a>', "no such file"),
        ('<a href="b.html#nowhere">x</a>', "no anchor 'nowhere'"),
        ('<a href="#nowhere">x</a>', "no anchor 'nowhere'"),
        ('<a href="../b.html">x</a>', "outside the site"),
        ('<img src="missing.png">', "no such file"),
        ('<script src="https://example.org/x.js"></script>', "loads https://example.org/x.js from elsewhere"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "from elsewhere"),
    ],
)
def test_a_broken_link_is_found(site, body, reason):
    (problem,) = site(body)
    assert problem.startswith("a.html: ")
    assert reason in problem


@pytest.fixture(scope="module")
def gathered(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    pages.Pages(folder).gather()
    return folder


def test_every_page_of_docs_is_in_the_navigation(gathered):
    def places(entries):
        for entry in entries:
            value = next(iter(entry.values())) if isinstance(entry, dict) else entry
            yield from places(value) if isinstance(value, list) else [value]

    named = set(places(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    written = {str(path.relative_to(gathered)) for path in gathered.rglob("*.md")}
    decisions = {name for name in written if name.startswith("adr/0")}
    shown = {name for name in written if name.startswith("source/")}
    assert named == written - decisions - shown | {f"reference/{name}" for name in reference.reference()}


def test_links_out_of_docs_lead_to_pages_that_show_the_file(gathered):
    text = (gathered / "guides" / "write-a-backend.md").read_text()
    assert "(../source/src/cobre/comm/protocol.py.md)" in text
    shown = (gathered / "source/src/cobre/comm/protocol.py.md").read_text()
    assert (ROOT / "src/cobre/comm/protocol.py").read_text().rstrip() in shown
    assert "(source/examples/backend_plugin/README.md)" in (gathered / "index.md").read_text()


def test_a_link_to_nothing_is_an_error(tmp_path):
    root = tmp_path / "root"
    (root / "docs").mkdir(parents=True)
    for name in ("README.md", *pages.TOP):
        (root / name).write_text("## Glossary\n\nwords\n")
    (root / "docs" / "page.md").write_text("```\n[code](is/no/link.md)\n```\n[lost](gone.md)\n")
    with pytest.raises(FileNotFoundError, match=r"docs/page\.md links to docs/gone\.md"):
        pages.Pages(tmp_path / "out", root).gather()


def test_the_decisions_are_listed(gathered):
    listed = (gathered / "adr" / "README.md").read_text()
    for path in (gathered / "adr").glob("0*.md"):
        title = path.read_text().partition("\n")[0].partition(". ")[2]
        assert f"[{title}]({path.name})" in listed


def test_the_reference_describes_commands_files_tables_and_events():
    written = reference.reference()
    for name in COMMANDS:
        assert f"\n## {name}\n" in written["commands.md"]
    assert "::: cobre.train\n" in written["python.md"]
    assert "::: cobre.comm.create_communicator\n" in written["communication.md"]
    assert "CobreError" not in written["python.md"]
    assert "## system/hydros.json\n" in written["case-files.md"]
    assert "| `alpha` | number > 0, ≤ 1 | yes |" in written["case-files.md"]
    assert "| `water_value_per_hm3` | f64 | $/hm3 |" in written["output-tables.md"]
    assert "\n## progress\n" in written["events.md"]


def test_examples_of_docstrings_are_shown_as_python():
    fenced = load("doctests").fenced
    text = "Adds.\n\n>>> 1 + 1\n2\n\n>>> 3\n3"
    assert fenced(text) == "Adds.\n\n```pycon\n>>> 1 + 1\n2\n```\n\n```pycon\n>>> 3\n3\n```"
    assert fenced("No > example.") == "No > example."


def test_the_glossary_is_short_sorted_and_has_one_meaning_per_word(gathered):
    words = [
        line.split("|")[1].strip() for line in (gathered / "glossary.md").read_text().splitlines()[6:] if line
    ]
    assert 30 <= len(words) <= 40
    assert words == sorted(set(words))
