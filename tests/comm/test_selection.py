from __future__ import annotations

import importlib.metadata
import logging
import os
import re
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import cobre.comm as comm
from cobre.comm import plugins, selection
from cobre.comm.backend import Backend, Detection, RankCommand, Unavailable
from cobre.comm.backends import local, mpi, shm, tcp
from cobre.comm.backends.mpi import LAUNCH_VARIABLES


class Ring(comm.LocalCommunicator):
    """Stands for a third party's communicator."""

    @property
    def backend(self):
        return "ring"


class RingConfig:
    """Stands for a third party's configuration."""


def _ring(**changes):
    fields = {
        "name": "ring",
        "detect": lambda environ: Detection(fits=bool(environ.get("RING"))),
        "configure": lambda environ: RingConfig(),
        "open": lambda config: Ring(),
        "rank_commands": lambda argv, size: [RankCommand(tuple(argv), {}, r) for r in range(size)],
        "config_type": RingConfig,
    }
    return Backend(**(fields | changes))


@pytest.fixture(autouse=True)
def nothing_warned_of_yet(monkeypatch):
    monkeypatch.setattr(plugins, "_warned", set())


@pytest.fixture
def plug_in(monkeypatch):
    """Registers records as if installed packages had brought them."""

    def plug(*records, names=None):
        points = []
        for number, record in enumerate(records):
            name = names[number] if names else record.name
            point = EntryPoint(
                name=name, value=f"stranger{number}:BACKEND", group=selection.ENTRY_POINT_GROUP
            )
            points.append((point, record))
        table = {point.value: record for point, record in points}

        def load(point):
            record = table[point.value]
            if isinstance(record, BaseException):
                raise record
            return record

        monkeypatch.setattr(EntryPoint, "load", load)
        monkeypatch.setattr(plugins, "_may_have_plugins", lambda: True)
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [point for point, _ in points])

    return plug


def test_nothing_set_means_local():
    with comm.create_communicator() as c:
        assert (c.backend, c.rank, c.size) == ("local", 0, 1)
        assert isinstance(c, comm.LocalCommunicator)


@pytest.mark.parametrize("value", ["", "auto", "AUTO", " local ", "local", " Auto "])
def test_names_are_taken_in_any_case_from_the_variable_and_as_an_argument(monkeypatch, value):
    monkeypatch.setenv("COBRE_COMM_BACKEND", value)
    comm.create_communicator().close()
    comm.create_communicator(value or None).close()


def test_an_unknown_name_is_answered_with_the_known_ones(monkeypatch):
    monkeypatch.setenv("COBRE_COMM_BACKEND", "smoke")
    with pytest.raises(comm.InvalidBackend) as caught:
        comm.create_communicator()
    assert caught.value.requested == "smoke"
    assert caught.value.available == ["mpi", "tcp", "shm", "local"]
    assert caught.value.kind == "IncompatibleSettings"
    with pytest.raises(comm.InvalidBackend):
        comm.create_communicator("smoke")


def test_explicit_arguments_read_no_environment(monkeypatch):
    monkeypatch.setenv("COBRE_COMM_BACKEND", "smoke")
    monkeypatch.setenv("COBRE_TCP_RANK", "nonsense")
    comm.create_communicator(comm.BackendKind.LOCAL).close()
    comm.create_communicator("local").close()
    for prefix in ("COBRE_SHM", "COBRE_TCP"):
        monkeypatch.setenv(f"{prefix}_RANK", "0")
        monkeypatch.setenv(f"{prefix}_SIZE", "1")
    monkeypatch.setenv("COBRE_SHM_NAME", "/x")
    record = _available(shm.BACKEND)
    monkeypatch.setattr(shm, "BACKEND", record)
    with pytest.raises(comm.MissingConfiguration, match="explicit arguments"):
        comm.create_communicator("shm")


def _available(record: Backend, opened=None) -> Backend:
    """``record`` as it will be once its backend is there."""
    return Backend(
        name=record.name,
        detect=record.detect,
        configure=record.configure,
        open=lambda config: Ring() if opened is None else opened(config),
        rank_commands=record.rank_commands,
        config_type=record.config_type,
    )


def test_a_config_alone_selects_its_backend(monkeypatch):
    seen = []
    for module in (shm, tcp):
        record = _available(module.BACKEND, lambda config: seen.append(config) or Ring())
        monkeypatch.setattr(module, "BACKEND", record)
    configs = [comm.ShmConfig("/x", 0, 1), comm.TcpConfig("localhost", 0, 2)]
    for config in configs:
        comm.create_communicator(config=config).close()
        comm.create_communicator("auto", config).close()
    assert seen == [configs[0], configs[0], configs[1], configs[1]]


def test_a_config_of_another_backend_is_refused(monkeypatch):
    monkeypatch.setattr(tcp, "BACKEND", _available(tcp.BACKEND))
    with pytest.raises(comm.InitializationFailed, match="takes TcpConfig, not ShmConfig"):
        comm.create_communicator("tcp", comm.ShmConfig("/x", 0, 1))
    with pytest.raises(comm.InitializationFailed, match="takes no configuration"):
        comm.create_communicator("local", comm.ShmConfig("/x", 0, 1))
    with pytest.raises(TypeError, match="belongs to no backend"):
        comm.create_communicator(config=object())


@pytest.mark.parametrize("name", ["mpi", "tcp", "shm"])
def test_an_unavailable_backend_is_an_error_with_a_remedy(monkeypatch, name):
    record = selection.get_backend(name)
    if record.unavailable() is None:
        pytest.skip(f"{name} is available here")
    monkeypatch.setenv("COBRE_COMM_BACKEND", name)
    for call in (comm.create_communicator, lambda: comm.create_communicator(name)):
        with pytest.raises(comm.BackendNotAvailable) as caught:
            call()
        assert caught.value.requested == name
        assert "local" in caught.value.available
        assert caught.value.suggestion
    assert name not in comm.available_backends()


@pytest.mark.parametrize(
    "make",
    [
        comm.MpiCommunicator,
        lambda: comm.TcpCommunicator.connect(comm.TcpConfig("localhost", 0, 1)),
        lambda: comm.ShmCommunicator.attach(comm.ShmConfig("/x", 0, 1)),
    ],
)
def test_a_class_of_an_unavailable_backend_imports_and_refuses(make):
    try:
        communicator = make()
    except comm.BackendNotAvailable as error:
        assert error.suggestion  # noqa: PT017 - either outcome is right, depending on what is installed
    else:
        communicator.close()


def test_available_backends_are_in_order_of_priority_and_local_is_always_last():
    names = comm.available_backends()
    assert names == [name for name in ("mpi", "tcp", "shm", "local") if name in names]
    assert names[-1] == "local"


def test_every_built_in_record_is_named_as_in_the_table():
    for module in (mpi, tcp, shm, local):
        assert selection.get_backend(module.BACKEND.name) is module.BACKEND
    assert list(selection.BACKENDS) == ["mpi", "tcp", "shm", "local"]


class TestAuto:
    """Detection alone; opening is each backend's own affair."""

    @staticmethod
    def detect(monkeypatch, **environ):
        monkeypatch.setattr(mpi, "_unavailable", lambda: None)
        monkeypatch.setattr(mpi, "_is_loadable", lambda: True)
        return selection._detect(environ).name

    @pytest.mark.parametrize("variable", [name for names in LAUNCH_VARIABLES for name in names[:2] if name])
    def test_a_launcher_s_variable_means_mpi(self, monkeypatch, variable):
        assert self.detect(monkeypatch, **{variable: "0"}) == "mpi"

    def test_a_slurm_batch_script_does_not_mean_mpi(self, monkeypatch):
        """It has SLURM_PROCID and SLURM_NTASKS, and is one process: without an MPI to load it runs alone."""
        script = {"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_JOB_ID": "7"}
        monkeypatch.setattr(mpi, "_unavailable", lambda: Unavailable("no mpi4py", "pip install mpi4py"))
        assert selection._detect(script).name == "local"
        assert selection._detect({**script, "SLURM_STEP_NUM_TASKS": "1"}).name == "local"
        monkeypatch.setattr(mpi, "_unavailable", lambda: None)
        monkeypatch.setattr(mpi, "_is_loadable", lambda: False)  # mpi4py without a library
        assert selection._detect(script).name == "local"
        assert selection._detect({**script, "PMI_RANK": "0"}).name == "mpi"

    def test_a_step_of_several_tasks_means_mpi_even_where_no_library_can_be_loaded(self, monkeypatch):
        """Opening it then says why it cannot be loaded; going on alone would do the work once per task."""
        monkeypatch.setattr(mpi, "_unavailable", lambda: None)
        monkeypatch.setattr(mpi, "_is_loadable", lambda: False)
        assert selection._detect({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "4"}).name == "mpi"

    @pytest.mark.parametrize(
        ("environ", "says"),
        [
            ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "3"}, "3 ranks (OMPI_COMM_WORLD_SIZE=3)"),
            ({"PMI_RANK": "0", "PMI_SIZE": "2"}, "2 ranks (PMI_SIZE=2)"),
            ({"PMIX_RANK": "0", "PMIX_NAMESPACE": "x"}, "ranks (PMIX_RANK=0)"),
            (
                {"SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "4", "SLURM_NTASKS": "4"},
                "4 ranks (SLURM_STEP_NUM_TASKS=4)",
            ),
        ],
        ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
    )
    def test_announced_ranks_without_mpi4py_are_an_error_with_the_remedy(self, monkeypatch, environ, says):
        monkeypatch.setattr(
            mpi, "_unavailable", lambda: Unavailable("mpi4py is not installed", "pip install mpi4py")
        )
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        for backend in (None, "auto"):
            with pytest.raises(comm.BackendNotAvailable) as caught:
                comm.create_communicator(backend)
            assert says in caught.value.message
            assert caught.value.requested == "mpi"
            assert "pip install mpi4py" in caught.value.suggestion
            assert "COBRE_COMM_BACKEND=local" in caught.value.suggestion
        monkeypatch.setenv("COBRE_COMM_BACKEND", "local")
        comm.create_communicator().close()

    @pytest.mark.parametrize(
        "environ",
        [
            {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1", "PMIX_RANK": "0"},
            {"PMI_RANK": "0", "PMI_SIZE": "1"},
        ],
    )
    def test_one_announced_rank_without_mpi4py_is_alone(self, monkeypatch, environ):
        monkeypatch.setattr(mpi, "_unavailable", lambda: Unavailable("no mpi4py", "pip install mpi4py"))
        assert selection._detect(environ).name == "local"

    def test_tcp_variables_serve_where_srun_starts_ranks_and_there_is_no_mpi(self, monkeypatch):
        monkeypatch.setattr(mpi, "_unavailable", lambda: Unavailable("no mpi4py", "pip install mpi4py"))
        step = {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "4"}
        assert selection._detect({**step, "COBRE_TCP_COORDINATOR": "h"}).name == "tcp"

    def test_launch_variables_are_listed_in_backend_records_only(self):
        """A second list of these variables would be forgotten when one changes."""
        names = {
            name
            for record in selection.all_backends()
            for variables in record.launch_variables
            for name in (*variables[:2], record.timeout_variable)
            if name
        }
        assert {"COBRE_SHM_RANK", "COBRE_TCP_TIMEOUT_SECS", "PMI_RANK"} <= names
        source = Path(selection.__file__).parent.parent
        elsewhere = [path for path in source.rglob("*.py") if "backends" not in path.parts]
        keepers = {path.name for path in elsewhere if any(name in path.read_text() for name in names)}
        assert keepers <= {"config.py", "launched.py"}  # what the variables mean, and an example in prose

    def test_mpi_comes_before_tcp_before_shm(self, monkeypatch):
        shm_set = {"COBRE_SHM_NAME": "/x"}
        tcp_set = {"COBRE_TCP_COORDINATOR": "h"}
        assert self.detect(monkeypatch, **shm_set, **tcp_set, PMI_RANK="0") == "mpi"
        assert self.detect(monkeypatch, **shm_set, **tcp_set) == "tcp"
        assert self.detect(monkeypatch, **shm_set) == "shm"
        assert self.detect(monkeypatch) == "local"

    def test_rank_zero_with_a_size_means_tcp_without_a_coordinator(self, monkeypatch):
        assert self.detect(monkeypatch, COBRE_TCP_RANK="0", COBRE_TCP_SIZE="3") == "tcp"

    @pytest.mark.parametrize(
        ("environ", "backend", "missing"),
        [
            ({"COBRE_TCP_RANK": "1", "COBRE_TCP_SIZE": "3"}, "tcp", ["COBRE_TCP_COORDINATOR"]),
            ({"COBRE_TCP_RANK": "0"}, "tcp", ["COBRE_TCP_SIZE"]),
            ({"COBRE_TCP_PORT": "9"}, "tcp", ["COBRE_TCP_COORDINATOR", "COBRE_TCP_RANK", "COBRE_TCP_SIZE"]),
            ({"COBRE_TCP_SECRET": "s"}, "tcp", ["COBRE_TCP_COORDINATOR", "COBRE_TCP_RANK", "COBRE_TCP_SIZE"]),
            ({"COBRE_SHM_RANK": "0", "COBRE_SHM_SIZE": "2"}, "shm", ["COBRE_SHM_NAME"]),
            ({"COBRE_SHM_TIMEOUT_SECS": "2"}, "shm", ["COBRE_SHM_NAME", "COBRE_SHM_RANK", "COBRE_SHM_SIZE"]),
        ],
    )
    def test_a_partial_set_is_an_error_never_a_silent_local(self, monkeypatch, environ, backend, missing):
        with pytest.raises(comm.MissingConfiguration) as caught:
            self.detect(monkeypatch, **environ)
        assert (caught.value.backend, caught.value.missing_vars) == (backend, missing)

    def test_empty_variables_count_as_not_set(self, monkeypatch):
        assert self.detect(monkeypatch, COBRE_TCP_COORDINATOR="", COBRE_SHM_NAME="", PMI_RANK="") == "local"

    def test_it_is_what_create_communicator_does(self, monkeypatch):
        monkeypatch.setenv("COBRE_SHM_RANK", "0")
        for backend in (None, "auto", comm.BackendKind.AUTO):
            with pytest.raises(comm.MissingConfiguration):
                comm.create_communicator(backend)


class TestThirdParties:
    def test_a_plugin_is_listed_before_local_and_opened_by_name(self, plug_in, monkeypatch):
        plug_in(_ring())
        assert comm.available_backends()[-2:] == ["ring", "local"]
        assert comm.create_communicator(config=RingConfig()).backend == "ring"
        assert comm.create_communicator("ring", RingConfig()).backend == "ring"
        monkeypatch.setenv("COBRE_COMM_BACKEND", "ring")
        assert comm.create_communicator().backend == "ring"

    def test_auto_detects_a_plugin(self, plug_in, monkeypatch):
        plug_in(_ring())
        assert comm.create_communicator().backend == "local"
        monkeypatch.setenv("RING", "yes")
        assert comm.create_communicator().backend == "ring"

    @pytest.mark.parametrize("broken", [ImportError("no ring today"), "not a record", _ring(name="other")])
    def test_a_broken_plugin_affects_only_its_own_use(self, plug_in, caplog, broken):
        plug_in(broken, names=["ring"])
        with caplog.at_level(logging.WARNING, "cobre.comm"):
            comm.create_communicator().close()
            assert comm.available_backends()[-1] == "local"
        assert "ring" in caplog.text
        assert len(caplog.messages) == len(caplog.text.splitlines()) == 1  # however often it is met
        with pytest.raises(comm.BackendNotAvailable) as caught:
            comm.create_communicator("ring", RingConfig())
        assert caught.value.__cause__ is not None

    @pytest.mark.parametrize(
        "changes",
        [
            {"detect": lambda environ: 1 / 0},
            {"detect": lambda environ: None},
            {"detect": lambda environ: sys.exit(3)},
            {"unavailable": lambda: 1 / 0},
            {"unavailable": lambda: sys.exit(3)},
            {"unavailable": lambda: "no token ring card"},
        ],
    )
    def test_a_plugin_whose_detection_raises_is_skipped(self, plug_in, caplog, changes):
        plug_in(_ring(**changes))
        assert comm.create_communicator().backend == "local"
        assert comm.available_backends()[-1] == "local"
        assert "passed over" in caplog.text

    @pytest.mark.parametrize("answer", ["no token ring card", True])
    def test_a_plugin_with_a_malformed_refusal_is_unavailable(self, plug_in, answer):
        plug_in(_ring(unavailable=lambda: answer))
        with pytest.raises(comm.BackendNotAvailable, match="repair or uninstall"):
            comm.create_communicator("ring", RingConfig())

    @pytest.mark.parametrize("config_type", ["RingConfig", (RingConfig,)], ids=repr)
    def test_a_plugin_with_a_malformed_configuration_affects_no_other_backend(self, plug_in, config_type):
        plug_in(_ring(config_type=config_type), _ring(name="token"))
        assert comm.create_communicator(config=RingConfig()).backend == "ring"  # opened by token's record
        with pytest.raises(comm.BackendNotAvailable, match="config_type(.|\n)*not a class"):
            comm.create_communicator("ring", RingConfig())

    @pytest.mark.parametrize("group", [b"console_scripts", b"cobre.comm.backends"])
    def test_a_damaged_third_party_package_does_not_end_a_plain_run(
        self, tmp_path, monkeypatch, caplog, group
    ):
        metadata = tmp_path / "damaged-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: damaged\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_bytes(b"[" + group + b"]\n\xff\xfe")
        monkeypatch.syspath_prepend(tmp_path)
        assert comm.create_communicator().backend == "local"
        assert comm.available_backends()[-1] == "local"
        assert ("cannot be searched" in caplog.text) == (group == b"cobre.comm.backends")

    def test_a_plugin_that_exits_on_import_does_not_end_the_program(self, plug_in):
        plug_in(SystemExit(0), names=["ring"])
        assert comm.create_communicator().backend == "local"
        with pytest.raises(comm.BackendNotAvailable):
            comm.create_communicator("ring", RingConfig())

    def test_a_plugin_that_opens_no_communicator_is_reported(self, plug_in):
        plug_in(_ring(open=lambda config: None))
        with pytest.raises(comm.InitializationFailed, match="NoneType, which is no communicator"):
            comm.create_communicator("ring", RingConfig())

    def test_a_plugin_cannot_have_a_built_in_name(self, plug_in, caplog):
        plug_in(_ring(), names=["local"])
        assert comm.available_backends().count("local") == 1
        assert type(comm.create_communicator("local")) is comm.LocalCommunicator
        assert "built-in" in caplog.text

    def test_of_two_plugins_with_one_name_the_first_is_used_with_a_warning(self, plug_in, caplog):
        plug_in(_ring(), _ring())
        assert comm.create_communicator("ring", RingConfig()).backend == "ring"
        assert "both named" in caplog.text

    def test_an_unavailable_plugin_gives_its_reason(self, plug_in):
        plug_in(_ring(unavailable=lambda: Unavailable("no token ring card", "buy one")))
        assert "ring" not in comm.available_backends()
        with pytest.raises(comm.BackendNotAvailable, match="no token ring card\n  fix: buy one"):
            comm.create_communicator("ring", RingConfig())

    def test_a_failed_start_is_wrapped_with_its_cause(self, plug_in):
        for cause in (OSError(98, "in use"), comm.AllocationFailed(5, "no room"), ZeroDivisionError("bug")):

            def fail(config, cause=cause):
                raise cause

            plug_in(_ring(open=fail))
            with pytest.raises(comm.InitializationFailed) as caught:
                comm.create_communicator("ring", RingConfig())
            assert caught.value.__cause__ is cause
            assert caught.value.source is cause


def test_the_environment_is_untouched():
    before = dict(os.environ)
    comm.create_communicator().close()
    assert dict(os.environ) == before


def test_remedies_name_only_what_can_be_installed():
    """Cobre itself is on no index: a remedy names the dependency, or the folder of a clone."""
    root = Path(__file__).parent.parent.parent
    texts = [*(root / "src").rglob("*.py"), *(root / "docs").rglob("*.md"), root / "README.md"]
    named = [
        line.strip()
        for path in texts
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"\b(pip|uv|pipx) (tool )?(install|add)\b.*\bpycobre\b", line)
    ]
    assert named == []
