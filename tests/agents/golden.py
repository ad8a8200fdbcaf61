"""What ``tools/list`` answers, as text. ``python tests/agents/golden.py`` writes it anew; look at the difference.

Hosts keep the schemas of tools, and people write programs against them: a change must be meant.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

STORED = Path(__file__).with_name("tools.json")


def listed() -> str:
    """The list of a server that may write."""
    from agents.served import server_of, talk

    with tempfile.TemporaryDirectory() as folder:
        tools = talk(server_of(Path(folder)), lambda client: client.list_tools()).tools
    found = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    return json.dumps(found, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    STORED.write_text(listed())
