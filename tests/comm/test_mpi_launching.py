"""Which ``mpiexec`` is taken, and with which options. Needs no MPI: the libraries here are folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cobre.comm.backends.mpi import mpiexec
from cobre.comm.backends.mpi.mpiexec import Library, find_mpiexec, mpiexec_command
from cobre.errors import BackendNotAvailable

OPEN_MPI, MPICH = "mpiexec (Open MPI) 5.0", "HYDRA build details:"


def _install(prefix: Path, says: str, name: str = "mpiexec") -> Path:
    program = prefix / "bin" / name
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\necho '{says}'\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def open_mpi(tmp_path):
    return Library("Open MPI", tmp_path / "mpi" / "lib" / "libmpi.so.40")


def _path(*folders: Path) -> dict[str, str]:
    return {"PATH": os.pathsep.join(str(folder / "bin") for folder in folders)}


def test_the_one_installed_with_the_library_comes_before_path(tmp_path, open_mpi):
    own, other = _install(tmp_path / "mpi", OPEN_MPI), tmp_path / "other"
    _install(other, OPEN_MPI)
    assert find_mpiexec(open_mpi, _path(other)) == own


def test_libraries_deep_below_their_prefix_find_theirs(tmp_path):
    own = _install(tmp_path / "usr", OPEN_MPI, "mpiexec.openmpi")
    library = Library("Open MPI", tmp_path / "usr/lib/x86_64-linux-gnu/openmpi/lib/libmpi.so.40")
    assert find_mpiexec(library, _path()) == own


def test_one_of_another_mpi_is_passed_over(tmp_path, open_mpi):
    _install(tmp_path / "mpi", MPICH)
    wrong, right = tmp_path / "wrong", tmp_path / "right"
    _install(wrong, MPICH)
    expected = _install(right, OPEN_MPI, "mpiexec.openmpi")
    assert find_mpiexec(open_mpi, _path(wrong, right)) == expected


def test_none_at_all_is_explained(tmp_path, open_mpi):
    with pytest.raises(BackendNotAvailable, match="no mpiexec of Open MPI") as caught:
        find_mpiexec(open_mpi, _path(tmp_path))
    assert "srun" in caught.value.suggestion


class TestCommand:
    @pytest.fixture(autouse=True)
    def _found(self, monkeypatch, tmp_path):
        self.library = Library("Open MPI", tmp_path / "lib" / "libmpi.so")
        monkeypatch.setattr(mpiexec, "find_library", lambda: self.library)
        monkeypatch.setattr(mpiexec, "find_mpiexec", lambda library, environ: Path("/x/mpiexec"))

    def test_open_mpi_may_oversubscribe_and_as_root_run(self, monkeypatch):
        monkeypatch.setattr(mpiexec.os, "geteuid", lambda: 0)
        command = mpiexec_command(["prog", "--arg"], 5000, {})
        assert command.rank is None
        assert command.argv[:3] == ("/x/mpiexec", "-n", "5000")
        assert command.argv[-2:] == ("prog", "--arg")
        assert "--oversubscribe" in command.argv
        assert "mpi_yield_when_idle" in command.argv
        assert command.env == {
            "COBRE_COMM_BACKEND": "mpi",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            mpiexec.SESSIONS: command.leaves[0],
        }
        monkeypatch.setattr(mpiexec.os, "geteuid", lambda: 1000)
        assert mpiexec_command(["prog"], 1, {}).env.keys() == {"COBRE_COMM_BACKEND", mpiexec.SESSIONS}

    def test_every_open_mpi_job_keeps_its_files_in_a_directory_of_its_own(self):
        one, other = (mpiexec_command(["prog"], 2, {}) for _ in range(2))
        assert one.leaves != other.leaves

    @pytest.mark.parametrize(
        ("environ", "options"),
        [
            ({"PRTE_MCA_prte_tmpdir_base": "/scratch"}, ()),
            ({}, ("--prtemca", "prte_tmpdir_base", "/scratch")),
        ],
    )
    def test_a_session_folder_of_the_user_is_kept(self, environ, options):
        # Open MPI refuses two directions.
        command = mpiexec_command(["prog"], 2, environ, options)
        assert command.leaves == ()
        assert mpiexec.SESSIONS not in command.env

    def test_inside_a_job_the_network_is_not_switched_off(self):
        assert "sm,self" in mpiexec_command(["prog"], 2, {}).argv
        assert "sm,self" not in mpiexec_command(["prog"], 2, {"SLURM_JOB_ID": "7"}).argv

    def test_mpich_needs_no_options(self):
        self.library = Library("MPICH", self.library.path)
        assert mpiexec_command(["prog"], 3, {}).argv == ("/x/mpiexec", "-n", "3", "prog")


def test_without_mpi4py_there_is_nothing_to_start(monkeypatch):
    from cobre.comm.backend import Unavailable
    from cobre.comm.backends import mpi

    monkeypatch.setattr(mpi, "_unavailable", lambda: Unavailable("no mpi4py", "pip install mpi4py"))
    with pytest.raises(BackendNotAvailable, match="no mpi4py"):
        mpi.BACKEND.rank_commands(["prog"], 2)
