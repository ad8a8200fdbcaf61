from __future__ import annotations

import doctest
import importlib
import pkgutil
import sys

import pytest

import cobre
import cobre.comm
from commands import run_command

HEAVY = ["numpy", "mpi4py", "highspy", "pyarrow", "rich", "cloudpickle"]

CONTRACT = """
    Communicator SharedMemoryProvider SharedRegion ReduceOp CollectiveFailed InvalidBufferSize InvalidRoot
    InvalidCommunicator AllocationFailed CommError BackendNotAvailable InvalidBackend InitializationFailed
    MissingConfiguration BackendError BackendKind TcpConfig ShmConfig create_communicator MpiCommunicator
    TcpCommunicator ShmCommunicator LocalCommunicator CommBackend available_backends contiguous_block block_layout
""".split()


def _python(code: str) -> str:
    done = run_command([sys.executable, "-c", code], check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("package", [cobre, cobre.comm], ids=lambda p: p.__name__)
def test_all_lists_the_public_names_and_each_resolves(package):
    for name in package.__all__:
        assert getattr(package, name) is not None
    assert package.__all__ == sorted(package.__all__)
    assert {name for name in dir(package) if not name.startswith("_")} == set(package.__all__)


@pytest.mark.parametrize("name", CONTRACT)
def test_the_contract_is_importable_from_cobre_comm(name):
    assert name in cobre.comm.__all__


@pytest.mark.parametrize("package", [cobre, cobre.comm], ids=lambda p: p.__name__)
def test_an_unknown_name_is_an_attribute_error(package):
    with pytest.raises(AttributeError, match="nonsense"):
        package.nonsense  # noqa: B018


def test_importing_the_package_loads_nothing_heavy_and_no_backend():
    loaded = _python("import sys, cobre, cobre.comm; print(*sorted(sys.modules))").split()
    assert not set(HEAVY) & set(loaded)
    assert not [name for name in loaded if name.startswith(("cobre.comm.backends", "cobre._native"))]


def test_a_plain_run_on_local_loads_no_other_heavy_library():
    code = "import sys, cobre.comm as c; c.create_communicator().close(); print(*sorted(sys.modules))"
    loaded = set(_python(code).split())
    assert not (set(HEAVY) - {"numpy"}) & loaded


def test_the_version_is_the_distribution_s():
    assert cobre.__version__ == importlib.metadata.version("pycobre")


def test_communicator_is_the_union_of_the_four_classes():
    names = {cls.__name__ for cls in cobre.comm.CommBackend.__args__}
    assert names == {"MpiCommunicator", "TcpCommunicator", "ShmCommunicator", "LocalCommunicator"}


def _modules():
    yield "cobre"
    for info in pkgutil.walk_packages(cobre.__path__, "cobre."):
        if not info.name.endswith("__main__"):
            yield info.name


@pytest.mark.parametrize("name", list(_modules()))
def test_examples_in_docstrings_run(name):
    failures, _ = doctest.testmod(importlib.import_module(name))
    assert failures == 0
