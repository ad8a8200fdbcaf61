"""``python -m cobre.comm.testing``."""

from __future__ import annotations

import sys

from cobre.comm.testing.command import main

if __name__ == "__main__":
    sys.exit(main())
