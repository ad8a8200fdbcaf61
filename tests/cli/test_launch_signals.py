"""``cobre launch`` and signals: Ctrl-C, what is forwarded, and ranks that never outlive their launcher."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from launches import MEET, start, wait_for_end

WAITS = (
    MEET
    + """
try:
    print('up', os.getpid(), flush=True)
    if comm.rank == 0: time.sleep(60)
    comm.barrier()
except KeyboardInterrupt:
    print('interrupted', comm.rank)
    raise
"""
)


def test_ctrl_c_is_a_keyboard_interrupt_on_every_rank(terminal, program):
    shell = terminal("launch", "-n", 3, "--backend", "sockets", program(WAITS))
    while shell.text.count("up") < 3:
        shell.read_until("up " if shell.text.count("up") == 0 else "\n")
        shell._read(0.1)
    shell.type("\x03")
    assert shell.wait() == 130
    for rank in range(3):
        assert f"interrupted {rank}" in shell.text
    assert shell.text.endswith("cobre launch: ended by SIGINT\n")


def test_a_second_ctrl_c_kills(terminal, program):
    deaf = MEET + "signal.signal(2, lambda *a: print('deaf', flush=True))\nprint('up', flush=True)\n"
    shell = terminal("launch", "-n", 1, "--backend", "local", program(deaf + "while True: time.sleep(1)"))
    shell.read_until("up")
    shell.type("\x03")
    shell.read_until("deaf")
    shell.type("\x03")
    assert shell.wait() == 137


def test_sigterm_is_forwarded(environ, program):
    path = program(
        "def leave(*a):\n    print('asked to end')\n    sys.exit(0)\n"
        "signal.signal(15, leave)\nprint('up')\ntime.sleep(60)"
    )
    with start(environ, "-n", 2, "--backend", "sockets", path) as launcher:
        assert [launcher.stdout.readline()[3:] for _ in range(2)] == [" up\n"] * 2
        launcher.terminate()
        output, errors = launcher.communicate(timeout=30)
    assert sorted(output.splitlines()) == ["[0] asked to end", "[1] asked to end"]
    assert (launcher.returncode, errors) == (0, "")


def test_sigterm_without_a_handler_is_143(environ, program):
    with start(environ, "-n", 2, "--backend", "sockets", program("print('up')\ntime.sleep(60)")) as launcher:
        assert [launcher.stdout.readline()[3:] for _ in range(2)] == [" up\n"] * 2
        launcher.terminate()
        launcher.communicate(timeout=30)
    assert launcher.returncode == 143


def test_user_signals_reach_every_rank(environ, program):
    path = program("signal.signal(10, lambda *a: (print('usr1'), os._exit(0)))\nprint('up')\ntime.sleep(60)")
    with start(environ, "-n", 2, "--backend", "sockets", path) as launcher:
        assert [launcher.stdout.readline()[3:] for _ in range(2)] == [" up\n"] * 2
        launcher.send_signal(signal.SIGUSR1)
        output, _ = launcher.communicate(timeout=30)
    assert sorted(output.splitlines()) == ["[0] usr1", "[1] usr1"]


def test_ranks_stop_and_go_on_with_their_launcher(environ, program):
    path = program(
        "signal.signal(10, lambda *a: os._exit(0))\nprint(os.getpid())\nwhile True: signal.pause()"
    )
    with start(environ, "-n", 2, "--backend", "sockets", path) as launcher:
        pids = [int(launcher.stdout.readline()[4:]) for _ in range(2)]
        launcher.send_signal(signal.SIGTSTP)
        wait_for_states([*pids, launcher.pid], "T")  # a shell, too, lets go on only what it has seen stop
        launcher.send_signal(signal.SIGCONT)
        wait_for_states(pids, "S")
        launcher.send_signal(signal.SIGUSR1)
        launcher.communicate(timeout=30)
    assert launcher.returncode == 0


def wait_for_states(pids, state):
    end = time.monotonic() + 60
    while any(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != state for pid in pids):
        assert time.monotonic() < end
        time.sleep(0.02)


def test_ranks_end_when_the_launcher_is_killed(environ, program):
    with start(
        environ, "-n", 3, "--backend", "sockets", program("print(os.getpid())\ntime.sleep(60)")
    ) as launcher:
        pids = [int(launcher.stdout.readline()[4:]) for _ in range(3)]
        launcher.kill()
    wait_for_end(pids)


def test_it_can_be_stopped_before_any_rank_is_up(environ, program):
    with start(environ, "-n", 4, "--backend", "sockets", program("time.sleep(60)")) as launcher:
        children, end = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children"), time.monotonic() + 60
        while not children.read_text():  # the guard is started before the first rank
            assert time.monotonic() < end
            time.sleep(0.001)
        launcher.send_signal(signal.SIGINT)
        launcher.communicate(timeout=30)
    assert launcher.returncode == 130
