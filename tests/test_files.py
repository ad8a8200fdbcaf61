"""Files that appear whole, and reach the disk one by one or together."""

from __future__ import annotations

import errno
import os

import pytest

from cobre.errors import IOError
from cobre.files import syncing_together, write_atomically


@pytest.fixture
def synced(monkeypatch):
    """Contents of what was synced, in any order."""
    found: list[bytes] = []
    fsync = os.fsync

    def noted(descriptor):
        found.append(os.pread(descriptor, 100, 0))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    return found


def test_a_file_is_on_the_disk_when_it_is_written(tmp_path, synced):
    write_atomically(tmp_path / "a", b"one")
    assert len(synced) == 1


def test_files_written_together_are_whole_at_once_and_on_the_disk_at_the_end(tmp_path, synced):
    with syncing_together():
        for number in range(20):
            write_atomically(tmp_path / "in" / str(number), b"%d" % number)
        assert not synced
        assert {path.read_bytes() for path in (tmp_path / "in").iterdir()} == {b"%d" % n for n in range(20)}
        with syncing_together():
            write_atomically(tmp_path / "inner", b"inner")
        assert not synced
    assert sorted(synced) == sorted([b"inner", *(b"%d" % n for n in range(20))])
    write_atomically(tmp_path / "after", b"after")
    assert len(synced) == 22


def test_a_disk_that_fails_at_the_end_is_reported_with_the_file(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(IOError, match=r"cannot write .*/a: No space left"), syncing_together():
        write_atomically(tmp_path / "a", b"one")


def test_an_error_inside_is_raised_and_nothing_is_synced_for_it(tmp_path, synced):
    def fail_inside():
        with syncing_together():
            write_atomically(tmp_path / "a", b"one")
            raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        fail_inside()
    assert not synced
    write_atomically(tmp_path / "b", b"two")
    assert len(synced) == 1
