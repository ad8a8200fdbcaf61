"""The public example cases: beside the checkout, or in the folder that COBRE_PEER_CASES names."""

from __future__ import annotations

import os
from pathlib import Path

# Read here: no test sees variables of ours that it did not set.
FOLDER = Path(os.environ.get("COBRE_PEER_CASES", Path(__file__).parents[2] / "shared" / "peer-cases"))
CASES = sorted(path for path in FOLDER.glob("*") if (path / "config.json").is_file())
WHERE = "set COBRE_PEER_CASES to the folder of the public example cases"
