"""``python -m cobre`` is ``cobre``."""

from __future__ import annotations

import sys

from cobre.cli import script

if __name__ == "__main__":
    sys.exit(script())
