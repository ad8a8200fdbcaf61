"""Builds the documentation site in build/site/html and checks its links: ``python docs/site/build.py [--mkdocs]``."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from links import problems
from pages import ROOT, Pages
from reference import reference

SITE = ROOT / "build" / "site"


def main() -> int:
    """Gather, write the reference, build, check; 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mkdocs", action="store_true", help="build with MkDocs instead of Zensical")
    options = parser.parse_args()
    pages = Pages(SITE / "pages")
    pages.gather()
    for name, text in reference().items():
        pages.write(f"reference/{name}", text)
    generator = "mkdocs" if options.mkdocs else "zensical"
    program = Path(sys.executable).with_name(generator)
    done = subprocess.run(
        [program, "build", "--strict"],
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1", "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    sys.stderr.write(done.stdout + done.stderr if done.returncode else "")
    found = problems(SITE / "html")
    sys.stderr.writelines(f"{problem}\n" for problem in found)
    count = sum(1 for _ in (SITE / "html").rglob("*.html"))
    sys.stdout.write(f"{count} pages in {(SITE / 'html').relative_to(ROOT)}, {len(found)} broken links\n")
    return int(bool(done.returncode or found))


if __name__ == "__main__":
    sys.exit(main())
