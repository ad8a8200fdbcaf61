"""Program that ``mpiexec`` starts in place of a rank: connects to the launcher, then executes the rank.

Run as a file by ``python -S -E``: it imports nothing of Cobre, because it runs once per rank and must be quick. What
mpiexec forwards may be cut and mixed in the middle of lines, and their rank is lost; over its own connection
each rank's lines stay whole. Where the launcher cannot be reached (another machine) the rank simply runs.
"""

import contextlib
import fcntl
import os
import resource
import socket
import struct
import sys

VARIABLE = "COBRE_LAUNCH_OUTLET"
HEADER = struct.Struct("!iB")
OUTPUT, ERRORS, REPORT = range(3)


def _connect(address: str, rank: int, purpose: int) -> int:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect("\0" + address)
    connection.sendall(HEADER.pack(rank, purpose))
    return connection.detach()


def _moved_up(descriptor: int) -> int:
    """The same connection under a high number.

    The kernel closes the descriptors of a killed process from the highest number down. So the launcher sees its end
    before mpiexec does, which watches a low one and then kills all other ranks.
    """
    most = min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 1024)
    with contextlib.suppress(OSError):
        high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, max(3, most - 8))
        os.close(descriptor)
        return high
    return descriptor


def main() -> None:
    """``outlet.py RANK_VARIABLE,… IS_SPLIT program arguments…``."""
    names, is_split, program = sys.argv[1].split(","), sys.argv[2] == "1", sys.argv[3:]
    address = os.environ.pop(VARIABLE, "")
    rank = next((int(os.environ[name]) for name in names if os.environ.get(name, "").isdecimal()), None)
    if address and rank is not None:
        with contextlib.suppress(OSError):
            # First: once it prints, the launcher can send it signals.
            report = _moved_up(_connect(address, rank, REPORT))
            output = _connect(address, rank, OUTPUT)
            errors = _connect(address, rank, ERRORS) if is_split else output
            for standard in (1, 2):  # kept, or mpiexec would take their end for the end of the rank
                os.set_inheritable(os.dup(standard), True)
            os.dup2(output, 1)
            os.dup2(errors, 2)
            for descriptor in {output, errors}:
                os.close(descriptor)
            os.set_inheritable(report, True)
            os.environ["COBRE_LAUNCH_REPORT"] = f"{report}:{os.fstat(report).st_ino}"
    try:
        os.execvp(program[0], program)  # noqa: S606 - the user's own command, without a shell on purpose
    except OSError as error:
        sys.exit(f"cannot start {program[0]!r}: {error.strerror}")


if __name__ == "__main__":
    main()
