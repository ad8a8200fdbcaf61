"""Steering a run: all ranks act together between two iterations, and no bit of an iteration changes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

import cobre
from cobre import study
from cobre.core.config import BoundStalling, IterationLimit, TimeLimit
from cobre.errors import CobreError
from cobre.sddp.control import Request, changed_rules
from cobre.sddp.policy import Policy
from cobre.study.control import LONGEST_ADDRESS, Control, new_address
from cobre.study.control_desk import SocketDesk
from sddp.studies import study as small_study
from sddp.trained import digest, settings
from small_case import write_small_case

DEADLINE_S = 60
WITHOUT_END = 1_000_000


def case_of(iterations):
    return small_study(training=settings(iterations, 2))


class Steered:
    """A training in a thread, and what steers it."""

    def __init__(self, iterations, **options):
        self.control = Control()
        self.result = None
        self._options = options
        self._thread = threading.Thread(target=self._train, args=(case_of(iterations),))

    def _train(self, case):
        self.result = cobre.train(case, control=self.control, **self._options)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, kind, error, trace):
        if error is not None and self._thread.is_alive():
            self.control.stop()
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive()


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_steered_run_has_the_bits_of_one_that_was_not(tmp_path, ranks):
    with Steered(WITHOUT_END, num_workers=ranks, output=tmp_path / "steered") as run:
        paused_at = run.control.pause()["iteration"]
        run.control.snapshot(tmp_path / "snapshot_{iteration}")
        run.control.set_rule("iteration_limit", limit=paused_at + 3)
        run.control.resume()
    plain = cobre.train(case_of(paused_at + 3), output=tmp_path / "plain")
    assert digest(run.result) == digest(plain)
    early = cobre.train(case_of(paused_at))
    assert Policy.load(tmp_path / f"snapshot_{paused_at:06d}").to_bytes() == early.policy.to_bytes()

    actions = ["pause", "snapshot", "set_rule", "resume"]
    metadata = json.loads((tmp_path / "steered" / "training" / "metadata.json").read_text())
    assert [each["action"] for each in metadata["controls"]] == actions
    assert {each["iteration"] for each in metadata["controls"]} == {paused_at}
    told = [each for each in study.attach(tmp_path / "steered").events() if each["type"] == "control"]
    assert [each["action"] for each in told] == actions
    assert json.loads((tmp_path / "plain" / "training" / "metadata.json").read_text())["controls"] == []


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_stop_keeps_the_policy_and_can_be_continued_to_the_same_bits(tmp_path, ranks):
    with Steered(WITHOUT_END, num_workers=ranks, output=tmp_path) as run:
        stopped_at = run.control.stop()["iteration"]
    assert run.result.termination_reason == "shutdown"
    assert run.result.stop_signal == signal.SIGTERM
    assert run.result.iterations == stopped_at
    assert not (tmp_path / "_SUCCESS").exists()
    assert study.attach(tmp_path).state().status == "partial"
    continued = cobre.train(case_of(stopped_at + 2), output=tmp_path, resume=True)
    assert digest(continued) == digest(cobre.train(case_of(stopped_at + 2)))


def test_a_pause_lasts_until_it_is_ended_and_counts_for_no_time(tmp_path):
    began = time.perf_counter()
    with Steered(WITHOUT_END, num_workers=2, output=tmp_path) as run:
        iteration = run.control.pause()["iteration"]
        paused_at = time.perf_counter()
        # The ranks meet every second meanwhile: two meetings are seen, and no iteration.
        for _ in range(2):
            time.sleep(1.1)
            assert run.control.paths()["iteration"] == iteration
        run.control.set_rule("iteration_limit", limit=iteration + 1)
        paused_s = time.perf_counter() - paused_at
        run.control.resume()
    total_s = time.perf_counter() - began
    assert run.result.iterations == iteration + 1
    assert run.result.history["wall_time_ms"][-1] / 1000 <= total_s - paused_s
    assert run.result.timings["python_ms"] >= 0.0


def test_a_stop_ends_a_pause(tmp_path):
    with Steered(WITHOUT_END, num_workers=2) as run:
        paused_at = run.control.pause()["iteration"]
        assert run.control.stop()["iteration"] == paused_at
    assert run.result.iterations == paused_at


def test_a_signal_ends_a_pause(tmp_path):
    case = write_small_case(tmp_path / "case", iterations=WITHOUT_END)
    run = study.start_run(case, workers=2, arguments=["--quiet"])
    try:
        next(each for each in run.events(follow=True, timeout_s=DEADLINE_S) if each["type"] == "iteration")
        run.control.pause()
    finally:
        status = run.end()
    assert status == 128 + signal.SIGTERM
    assert run.state().status == "partial"
    assert run.state().terminated["reason"] == "shutdown"


def test_a_simulation_can_be_paused_and_stopped(tmp_path):
    case = write_small_case(tmp_path / "case", iterations=2, scenarios=1_000_000)
    run = study.start_run(case, workers=2, arguments=["--quiet"])
    try:
        events = run.events(follow=True, timeout_s=DEADLINE_S)
        next(each for each in events if each.get("phase") == "simulation" and each["type"] == "progress")
        run.control.pause()
        with pytest.raises(CobreError, match="the run simulates now"):
            run.control.snapshot(tmp_path / "no")
        assert run.state().status == "paused"
        run.control.stop()
        assert run.process.wait(DEADLINE_S) == 128 + signal.SIGTERM
    finally:
        run.end()
    metadata = json.loads((case / "output" / "simulation" / "metadata.json").read_text())
    assert [each["action"] for each in metadata["controls"]] == ["pause", "snapshot", "stop"]


def test_a_callback_may_send_requests_without_waiting(tmp_path):
    control = Control()

    def callback(event):
        if event.iteration == 2:
            control.stop(wait=False)

    result = cobre.train(case_of(WITHOUT_END), control=control, progress_callback=callback)
    assert result.termination_reason == "shutdown"
    assert result.iterations in (2, 3)  # the request may arrive after the ranks have met


@pytest.mark.parametrize(
    ("action", "arguments", "message"),
    [
        ("explode", {}, "there is no action 'explode'"),
        ("pause", {"now": True}, "pause cannot take"),
        ("snapshot", {"path": "relative"}, "absolute path"),
        ("cuts", {"stage": -1}, "-1 is no stage"),
        ("set_rule", {"rule": "simulation", "values": {"period": 1}}, "cannot be changed"),
        ("set_rule", {"rule": "iteration_limit", "values": {"limit": 2.5}}, "cannot be 2.5"),
        ("set_rule", {"rule": "iteration_limit", "values": {"limit": 0}}, "cannot be 0"),
        ("set_rule", {"rule": "time_limit", "values": {"seconds": float("nan")}}, "cannot be nan"),
        ("set_rule", {"rule": "time_limit", "values": {}}, "time_limit cannot take"),
        ("set_rule", {"rule": "bound_stalling", "values": {"tolerance": True}}, "cannot be True"),
    ],
)
def test_impossible_requests_are_refused_at_once(action, arguments, message):
    with pytest.raises(CobreError, match=message):
        Control("/nowhere").request(action, arguments)


def test_impossible_requests_are_refused_and_the_run_goes_on(tmp_path):
    (tmp_path / "there").mkdir()
    with Steered(WITHOUT_END, output=tmp_path / "out") as run:
        for refused, message in [
            (lambda: run.control.resume(), "not paused"),
            (lambda: run.control.cuts(99), "there is no stage 99"),
            (lambda: run.control.snapshot(tmp_path / "there"), "exists already"),
            (lambda: run.control.snapshot("/proc/no/such"), "cannot write"),
            (lambda: run.control.set_rule("bound_stalling", tolerance=1e-3), "no rule bound_stalling yet"),
        ]:
            with pytest.raises(CobreError, match=message):
                refused()
        run.control.set_rule("bound_stalling", tolerance=1e9, iterations=1)
    assert run.result.termination_reason == "bound_stalling"


def test_queries_are_answered_from_the_newest_iteration(tmp_path):
    with Steered(WITHOUT_END, num_workers=2) as run:
        run.control.pause()
        cuts, paths = run.control.cuts(0), run.control.paths()
        run.control.stop()
    policy = run.result.policy.stages[0]
    assert cuts["total"] == len(policy.intercepts)
    assert cuts["cuts"][0]["intercept"] == policy.intercepts[-1]
    assert cuts["cuts"][0]["coefficients"] == policy.coefficients[-1].tolist()
    assert paths["paths"][0]["scenario"] == 0
    assert len(paths["paths"][0]["storage_hm3"]) == run.result.policy.n_stages
    assert run.result.controls[0].action == "pause"
    assert [each.action for each in run.result.controls] == ["pause", "stop"]


def test_rules_are_changed_in_place_or_added():
    rules = (IterationLimit(5), BoundStalling(10, 0.5))
    assert changed_rules(rules, "iteration_limit", {"limit": 9}) == (
        IterationLimit(9),
        BoundStalling(10, 0.5),
    )
    assert changed_rules(rules, "bound_stalling", {"tolerance": 0.1}) == (
        IterationLimit(5),
        BoundStalling(10, 0.1),
    )
    assert changed_rules(rules, "time_limit", {"seconds": 3.0}) == (*rules, TimeLimit(3.0))


def test_only_this_user_can_reach_the_socket():
    address = Path(new_address())
    assert address.parent.stat().st_mode & 0o077 == 0
    desk = SocketDesk(str(address))
    try:
        assert address.stat().st_mode & 0o077 == 0
        assert len(os.fsencode(address)) <= 100
    finally:
        desk.close()
    assert not address.exists()


STRANGER = """
import socket, sys
door = socket.socket(socket.AF_UNIX)
door.connect(sys.argv[1])
try:
    door.sendall(b'{"action": "pause", "wait": false}\\n')
    sys.exit(0 if door.recv(100) == b"" else 1)
except (BrokenPipeError, ConnectionResetError):
    sys.exit(0)
"""


@pytest.mark.skipif(os.getuid() != 0 or not Path("/usr/bin/python3").exists(), reason="needs root")
def test_requests_of_another_user_are_refused_even_in_an_open_folder():
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        desk = SocketDesk(f"{folder}/open.sock")
        try:
            Path(f"{folder}/open.sock").chmod(0o666)
            words = ["/usr/bin/python3", "-c", STRANGER, f"{folder}/open.sock"]
            path = {"PATH": "/usr/bin:/bin"}
            done = subprocess.run(words, user=65534, env=path, cwd="/", check=False, timeout=DEADLINE_S)
            assert done.returncode == 0
            assert desk.pending() == 0
        finally:
            desk.close()


def test_a_folder_that_others_can_enter_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "cobre").mkdir(mode=0o700)
    (tmp_path / "cobre").chmod(0o755)
    assert not new_address().startswith(str(tmp_path))
    (tmp_path / "cobre").chmod(0o700)
    is_short = len(os.fsencode(tmp_path / "cobre")) + 22 <= LONGEST_ADDRESS
    assert new_address().startswith(str(tmp_path)) == is_short


@pytest.mark.parametrize("sent", [b"no json\n", b"[]\n", b"half", b"", b"x" * 100_000])
def test_the_control_socket_survives_malformed_requests(sent):
    desk = SocketDesk(new_address())
    try:
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(desk._address)
            stranger.sendall(sent)
            stranger.shutdown(socket.SHUT_WR)
            stranger.settimeout(DEADLINE_S)
            with contextlib.suppress(ConnectionResetError):  # it was hung up on before it had sent everything
                assert stranger.recv(100) == b""
        Control(desk._address).pause(wait=False)
        assert [each.action for each in desk.take()] == ["pause"]
    finally:
        desk.close()


def test_a_waiting_request_is_answered_when_the_run_ends():
    desk = SocketDesk(new_address())
    said = []

    def ask():
        try:
            Control(desk._address).pause()
        except CobreError as error:
            said.append(error.message)

    asking = threading.Thread(target=ask)
    asking.start()
    end = time.monotonic() + DEADLINE_S
    while not desk.pending() and time.monotonic() < end:
        time.sleep(0.005)
    assert isinstance(desk.take()[0], Request)
    desk.close()
    asking.join(DEADLINE_S)
    assert said == ["the run ended before it took the request up"]


def test_a_socket_of_a_killed_run_is_removed_by_the_next():
    code = "import sys, os\nfrom cobre.study.control_desk import SocketDesk\nSocketDesk(sys.argv[1])\nos._exit(9)"
    with tempfile.TemporaryDirectory(
        dir="/tmp"
    ) as folder:  # of its own: other tests remove such sockets, too
        abandoned = Path(folder) / "abandoned.sock"
        words = [sys.executable, "-c", code, abandoned]
        assert subprocess.run(words, check=False, timeout=DEADLINE_S).returncode == 9
        assert abandoned.exists()
        listening = SocketDesk(f"{folder}/first.sock")
        SocketDesk(f"{folder}/second.sock").close()
        assert [path.name for path in Path(folder).iterdir()] == ["first.sock"]
        listening.close()


def test_a_missing_run_is_an_error():
    with pytest.raises(CobreError, match="does not listen"):
        Control(new_address()).request("pause", timeout_s=0.2)
    with pytest.raises(CobreError, match="does not listen"):
        Control(new_address(), is_live=lambda: False).pause()
