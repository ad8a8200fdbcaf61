"""``python -m cobre`` is ``cobre``."""

from __future__ import annotations

import sys

from cobre.cli import main

if __name__ == "__main__":
    sys.exit(main())
