"""Runs a command to its end, for tests that look at its exit status and at what it wrote."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any


def run_command(words: Any, *, timeout: float = 60, check: bool = False, **options: Any) -> Any:
    """Like `subprocess.run`, with both streams captured as text."""
    return subprocess.run(words, capture_output=True, text=True, timeout=timeout, check=check, **options)


def can_mount(folder: str) -> bool:
    """Whether this process may mount a small file system of its own over a folder."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return False
    command = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size=1m none {folder}"]
    return run_command(command, timeout=10).returncode == 0
