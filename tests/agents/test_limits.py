"""Limits of a server: lengths of lines, calls under way, rates, the disk, and the folders it has."""

from __future__ import annotations

import json
import os
import random
import threading
from pathlib import Path

import pytest

from agents.served import assert_given_up_once_closed
from cobre.errors import CobreError
from cobre.mcp import standard_input
from cobre.mcp.limits import CallRate, CallsAtOnce, check_disk
from cobre.mcp.roots import Roots
from cobre.mcp.standard_input import LimitedLines


def test_too_many_calls_are_refused_and_later_ones_are_not():
    now = [0.0]
    rate = CallRate(3, clock=lambda: now[0])
    for _ in range(3):
        rate.take()
    with pytest.raises(CobreError, match="calls in a minute"):
        rate.take()
    now[0] += 21.0
    rate.take()
    with pytest.raises(CobreError):
        rate.take()


def test_the_number_of_concurrent_calls_is_limited():
    at_once = CallsAtOnce(2)
    with at_once, at_once:
        with pytest.raises(CobreError, match="under way"), at_once:
            pass
        with pytest.raises(CobreError, match="under way"), at_once:
            pass
    with at_once:
        pass


def test_nothing_is_written_to_a_nearly_full_disk(tmp_path):
    check_disk(tmp_path / "new" / "folder", 0)
    with pytest.raises(CobreError, match="MB left"):
        check_disk(tmp_path, 10**12)


def test_roots_must_be_folders_and_not_the_root_directory(tmp_path):
    (tmp_path / "file").touch()
    for folders in ([Path("/")], [tmp_path / "nothing"], [tmp_path / "file"], []):
        with pytest.raises(CobreError):
            Roots(folders)


def test_paths_that_cannot_be_resolved_are_refused(tmp_path, monkeypatch):
    roots = Roots([tmp_path])
    with pytest.raises(CobreError) as refused:
        roots.check_inside(tmp_path / "a\0b", "policy.path")
    assert refused.value.kind == "NotAllowed"

    def refuse(path):
        raise PermissionError(13, "Permission denied", path)

    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.setattr(os, "readlink", refuse)  # as for /proc/1/root
    with pytest.raises(CobreError) as refused:
        roots.path("link")
    assert refused.value.kind == "NotAllowed"


def test_several_roots_have_labels(tmp_path):
    for name in ("one/cases", "two/cases"):
        (tmp_path / name / "x").mkdir(parents=True)
    roots = Roots([tmp_path / "one/cases", tmp_path / "two/cases"])
    assert roots.folder("cases/x") == (tmp_path / "one/cases/x").resolve()
    assert roots.folder("cases-2/x") == (tmp_path / "two/cases/x").resolve()
    assert roots.shown(roots.folder("cases-2/x")) == "cases-2/x"
    assert roots.hide(f"in {tmp_path.resolve()}/two/cases/x") == "in cases-2/x"
    with pytest.raises(CobreError, match="does not begin with"):
        roots.path("x")


def test_lines_beyond_the_limit_are_cut_however_they_arrive():
    choose = random.Random(5)
    lines = [b"x" * choose.randrange(40) for _ in range(200)]
    reader, writer = os.pipe()
    limited = LimitedLines(reader, 20)
    os.write(writer, b"\n".join(lines) + b"\n")
    os.close(writer)
    found, count = b"", 1
    while count:
        buffer = bytearray(choose.randrange(1, 50))
        count = limited.readinto(memoryview(buffer))
        found += bytes(buffer[:count])
    os.close(reader)
    for line, kept in zip(lines, found.split(b"\n")[:-1], strict=True):
        assert kept == line[:20]


def full_pipe():
    """Both ends of a pipe that takes no more."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    os.write(writer, b"x" * (1 << 20))
    return reader, writer


def test_no_request_is_read_while_the_client_does_not_read_answers():
    unread, answers = full_pipe()
    reader, writer = os.pipe()
    os.write(writer, b"request\n")
    found = []
    limited = LimitedLines(reader, answers=answers)
    thread = threading.Thread(target=lambda: found.append(limited.read(8)))
    thread.start()
    thread.join(0.2)
    assert found == []
    os.read(unread, 1 << 20)
    thread.join(60)
    assert found == [b"request\n"]
    for each in (reader, writer, unread, answers):
        os.close(each)


def test_the_server_ends_when_its_host_closes_the_pipe_and_reads_nothing(monkeypatch):
    monkeypatch.setattr(standard_input, "END_GRACE_S", 0.1)
    unread, answers = full_pipe()
    reader, writer = os.pipe()
    assert_given_up_once_closed(reader, answers, writer)
    for each in (reader, unread, answers):
        os.close(each)


def test_lone_surrogates_are_replaced_however_they_arrive():
    choose = random.Random(5)
    pieces = ["a", "\\", '"', "u", "ud83d", "\n", "é", "\ud83d", "\ude00", "\ud83d\ude00", "\ud800\ud83d"]
    for _ in range(300):
        text = "".join(choose.choices(pieces, k=choose.randrange(12)))
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        line = json.dumps(text, ensure_ascii=choose.random() < 0.5 or not text.isprintable()).encode() + b"\n"
        lines, parts = LimitedLines(0), []
        while line:
            count = choose.randrange(1, len(line) + 1)
            parts.append(lines.whole(line[:count]))
            line = line[count:]
        assert json.loads(b"".join(parts)) == whole, text
        assert lines.whole(b"") == b""
