"""Runs the Python blocks of README and docs: those of a document share one namespace and a folder of their own.

Tutorials are run as notebooks: ``tests/tutorials``.
"""

import os
import tempfile
from pathlib import Path

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser


def _enter_folder(namespace):
    namespace["_folder"] = tempfile.TemporaryDirectory()
    namespace["_before"] = Path.cwd()
    os.chdir(namespace["_folder"].name)


def _leave_folder(namespace):
    os.chdir(namespace["_before"])
    namespace["_folder"].cleanup()


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["*.md"],
    excludes=["docs/tutorials/*.md"],
    setup=_enter_folder,
    teardown=_leave_folder,
).pytest()
