"""Gathers the pages of the site: everything in docs, the texts at the top of the repository, and what they link to."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
TOP = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
SOURCE = "source"
"""Folder of pages that show a file of the repository which is no page itself."""
COPIED = {".png", ".svg", ".ipynb"}
LANGUAGES = {".py": "python", ".cpp": "cpp", ".hpp": "cpp", ".toml": "toml", ".yaml": "yaml", ".sh": "bash"}

LINK = re.compile(r"(?<=\]\()([^)\s#]+)(#[^)\s]*)?(?=\))")
FENCE = re.compile(r"^\s*(```|~~~)")
EXTERNAL = re.compile(r"^[a-z][a-z+.-]*:")


class Pages:
    """Pages below one folder, written as they are asked for."""

    def __init__(self, target: Path, root: Path = ROOT) -> None:
        self._target = target
        self._root = root
        self._shown: set[PurePosixPath] = set()

    def gather(self) -> None:
        """Write every page of the repository into an empty folder."""
        shutil.rmtree(self._target, ignore_errors=True)
        docs = self._root / "docs"
        for path in sorted(docs.rglob("*")):
            name = path.relative_to(self._root)
            if path.suffix == ".md":
                self._write_page(name, self._place_of(PurePosixPath(name)))
            elif path.suffix in COPIED:
                self._copy(path, PurePosixPath(name.relative_to("docs")))
        self._write_page(Path("README.md"), PurePosixPath("index.md"))
        for top in TOP:
            self._write_page(Path(top), PurePosixPath(top))
        self.write("glossary.md", glossary((self._root / "ARCHITECTURE.md").read_text(encoding="utf-8")))

    def write(self, place: PurePosixPath | str, text: str) -> None:
        """Write one page."""
        target = self._target / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def _copy(self, path: Path, place: PurePosixPath) -> None:
        target = self._target / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)

    def _write_page(self, name: Path, place: PurePosixPath) -> None:
        text = (self._root / name).read_text(encoding="utf-8")
        self.write(place, self._with_links(text, PurePosixPath(name), place))

    def _with_links(self, text: str, name: PurePosixPath, place: PurePosixPath) -> str:
        """The text with its links pointing at pages instead of files of the repository."""
        lines, is_code = [], False
        for line in text.splitlines():
            if FENCE.match(line):
                is_code = not is_code
            lines.append(line if is_code else LINK.sub(lambda link: self._moved(link, name, place), line))
        return "\n".join(lines) + "\n"

    def _moved(self, link: re.Match[str], name: PurePosixPath, place: PurePosixPath) -> str:
        target, anchor = link[1], link[2] or ""
        if EXTERNAL.match(target):
            return link[0]
        linked = PurePosixPath(os.path.normpath(name.parent / target))
        if not (self._root / linked).exists():
            raise FileNotFoundError(f"{name} links to {linked}, which does not exist")
        there = self._place_of(linked)
        if there.parts[0] == SOURCE:
            self._show(linked, there)
        return os.path.relpath(there, place.parent) + anchor

    def _place_of(self, name: PurePosixPath) -> PurePosixPath:
        """Where the page of a file or folder is."""
        if name == PurePosixPath("README.md"):
            return PurePosixPath("index.md")
        if str(name) in TOP:
            return name
        is_folder = (self._root / name).is_dir()
        if name.parts[0] == "docs":
            inside = name.relative_to("docs")
            return inside / "README.md" if is_folder else inside
        shown = PurePosixPath(SOURCE) / name
        if is_folder:
            return shown / "README.md"
        return shown if name.suffix == ".md" else shown.with_name(shown.name + ".md")

    def _show(self, name: PurePosixPath, place: PurePosixPath) -> None:
        """A page that shows a file, or lists a folder."""
        if name in self._shown:
            return
        self._shown.add(name)
        path = self._root / name
        if path.suffix == ".md":
            self._write_page(Path(name), place)
        elif path.is_dir():
            self.write(place, self._folder_page(name, path, place))
        else:
            text = path.read_text(encoding="utf-8").rstrip()
            language = LANGUAGES.get(path.suffix, "text")
            self.write(place, f"# {path.name}\n\n`{name}`\n\n````{language}\n{text}\n````\n")

    def _folder_page(self, name: PurePosixPath, path: Path, place: PurePosixPath) -> str:
        parts = [f"# {name}\n"]
        for each in sorted(path.iterdir()):
            if each.name.startswith((".", "__pycache__")) or each.suffix == ".egg-info":
                continue
            inner = name / each.name
            there = self._place_of(inner)
            if there == place:  # its own README.md
                text = each.read_text(encoding="utf-8")
                parts.insert(0, self._with_links(text, inner, place))
                continue
            self._show(inner, there)
            parts.append(f"- [{each.name}]({os.path.relpath(there, place.parent)})")
        if len(parts) > 1 and not parts[1].startswith("- "):
            parts[1] = "## Files\n"  # behind the text of its README.md
        return "\n".join(parts) + "\n"


def glossary(architecture: str) -> str:
    """The section of that name as a page."""
    section = architecture.partition("\n## Glossary\n")[2].partition("\n## ")[0]
    if not section:
        raise ValueError("ARCHITECTURE.md has no section called Glossary")
    return f"# Glossary\n{section}"
