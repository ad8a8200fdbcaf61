"""Seconds from starting ``cobre mcp`` to its first answer, and its memory while it waits.

Best of several starts, because others use the machine, too: what the server itself takes is the least that was seen.
Limits: 0.5 s and 80 MB. Exit status 1 beyond them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from record import publish

STARTS = 15
MOST_SECONDS = 0.5
MOST_MB = 80.0
CLIENT = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": CLIENT}
LIST_TOOLS = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


def start(folder: str) -> dict[str, float]:
    """One start: seconds to the first answer and to the list of tools, processor time, and memory in MB after it."""
    command = [str(Path(sys.executable).with_name("cobre-mcp")), "--allowed-dirs", folder, "--allow-write"]
    began = time.perf_counter()
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        ask(server, INITIALIZE)
        first = time.perf_counter() - began
        processor = processor_seconds(server.pid)
        ask(server, LIST_TOOLS)
        listed = time.perf_counter() - began
        time.sleep(0.3)
        return {"first": first, "processor": processor, "tools": listed, "mb": resident_mb(server.pid)}
    finally:
        server.stdin.close()
        server.wait()
        server.stdout.close()


def ask(server: subprocess.Popen[bytes], request: dict[str, object]) -> None:
    """Send a request and wait for its answer."""
    server.stdin.write(json.dumps(request).encode() + b"\n")
    server.stdin.flush()
    answer = json.loads(server.stdout.readline())
    assert answer["id"] == request["id"], answer
    assert "result" in answer, answer


def processor_seconds(pid: int) -> float:
    """User and system time so far."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / 100.0


def resident_mb(pid: int) -> float:
    """Memory that the process holds."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024.0


def main() -> int:
    """Measure and judge."""
    with tempfile.TemporaryDirectory() as folder:
        start(folder)  # writes byte code
        found = [start(folder) for _ in range(STARTS)]
    best = {name: min(each[name] for each in found) for name in found[0]}
    mb = max(each["mb"] for each in found)
    publish(
        "mcp_start",
        f"seconds (limit {MOST_SECONDS} to the first answer), MB (limit {MOST_MB})",
        {
            "s to the first answer": best["first"],
            "s of processor time to the first answer": best["processor"],
            "s to the list of tools": best["tools"],
            "MB while idle": mb,
        },
    )
    return 0 if best["first"] <= MOST_SECONDS and mb <= MOST_MB else 1


if __name__ == "__main__":
    sys.exit(main())
