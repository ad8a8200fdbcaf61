# Every command anyone types. `make` alone lists them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CMAKE   = PATH="$(abspath $(BIN)):$$PATH" $(BIN)/cmake -S . -G Ninja
SOURCES := pyproject.toml CMakeLists.txt $(shell find native src -type f ! -name '*.pyi' ! -path '*/__pycache__/*')

.DEFAULT_GOAL := help
.PHONY: help setup run test test-4gib check lint types layers fmt bench asan tsan fuzz clean

help:            ## list these recipes
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.package ## create .venv and install Cobre with its tools

$(VENV)/.tools: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --group dev
	touch $@

$(VENV)/.package: $(VENV)/.tools $(SOURCES)
	$(BIN)/python -m pip install --quiet .
	touch $@

run: setup       ## run a distributed example on 4 ranks and show what each did
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation examples/backend_plugin
	$(BIN)/python -m cobre.comm.launch -n 4 --backend sockets -- examples/distributed_mean.py

test: setup      ## run the whole suite
	$(BIN)/python -m pytest

test-4gib: setup ## one run of the conformance kit with payloads over 4 GiB
	$(BIN)/python -m cobre.comm.testing --huge --deadline 600

check: lint types layers test ## lint, format, types, layers, tests and docs

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $$(git ls-files --cached --others --exclude-standard native)
	$(CMAKE) -B build/strict -DCOBRE_STRICT=ON -DPython_EXECUTABLE=$(abspath $(BIN)/python) \
	  -Dnanobind_DIR=$$($(BIN)/python -m nanobind --cmake_dir) >/dev/null
	$(BIN)/cmake --build build/strict --target _native core_driver tcp_driver tcp_fuzz

types: setup
	rm -rf src/cobre/_native && cp -r $$($(BIN)/python -c 'import cobre._native as n, pathlib; print(pathlib.Path(n.__file__).parent / "_native")') src/cobre/_native
	$(BIN)/mypy

layers: setup
	$(BIN)/lint-imports

fmt: setup       ## format Python and C++
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $$(git ls-files --cached --others --exclude-standard native)

bench: setup     ## measure call overhead and import time on this machine
	$(BIN)/python benchmarks/call_overhead.py
	$(BIN)/python benchmarks/import_time.py

asan: setup ## run the core's driver under AddressSanitizer and UBSan
	$(CMAKE) -B build/asan -DCOBRE_PYTHON=OFF -DCOBRE_SANITIZE=address,undefined >/dev/null
	$(BIN)/cmake --build build/asan --target core_driver tcp_driver tcp_fuzz
	build/asan/core_driver && build/asan/tcp_driver && build/asan/tcp_fuzz 100000

tsan: setup ## run the core's driver under ThreadSanitizer, ranks as threads
	$(CMAKE) -B build/tsan -DCOBRE_PYTHON=OFF -DCOBRE_SANITIZE=thread >/dev/null
	$(BIN)/cmake --build build/tsan --target core_driver tcp_driver
	build/tsan/core_driver && build/tsan/tcp_driver

fuzz: setup ## feed a million inputs to the tcp backend's parsers under the sanitizers
	$(CMAKE) -B build/asan -DCOBRE_PYTHON=OFF -DCOBRE_SANITIZE=address,undefined >/dev/null
	$(BIN)/cmake --build build/asan --target tcp_fuzz
	build/asan/tcp_fuzz 1000000

clean:           ## remove everything that was built or installed
	rm -rf $(VENV) build dist src/cobre/_native .mypy_cache .ruff_cache .import_linter_cache
