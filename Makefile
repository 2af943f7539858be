# The only commands to remember. Everything goes into .venv and engine/target.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TOOLS := $(VENV)/.tools-stamp
ENGINE := $(VENV)/.engine-stamp
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_ROOT_USER_ACTION := ignore
export PIP_QUIET := 1
# Containers often set this. The tests start loadcell as a process very often, and a third of the processor time of such a start would compile it.
unexport PYTHONDONTWRITEBYTECODE

# Nothing is measured on CI: what is built there is optimised little, and not across crates, which takes a third of the time.
ifdef CI
export CARGO_PROFILE_RELEASE_OPT_LEVEL := 1
export CARGO_PROFILE_RELEASE_LTO := off
export CARGO_PROFILE_RELEASE_CODEGEN_UNITS := 16
export CARGO_PROFILE_RELEASE_DEBUG := none
export CARGO_PROFILE_DEV_DEBUG := none
export CARGO_INCREMENTAL := 0
endif

.PHONY: help setup demo test lint lint-python lint-rust format unit unit-built tests-compiled e2e bench truth campaigns docs wheel wheel-tools sdist image clean \
  compilers system-packages

help:
	@echo 'make demo    set everything up and run plans/quickstart.yaml: a report on a real PostgreSQL'
	@echo 'make test    format, lint, types, unit and end-to-end tests'
	@echo 'make setup   only set up: .venv with loadcell in it (then: .venv/bin/loadcell --help)'
	@echo 'make lint    format, lint and types; make format mends what can be mended'
	@echo 'make bench   loadcell against its peers, on this machine (about 55 minutes)'
	@echo 'make truth   measure what has a known answer at full strength, and write docs/reference/accuracy.md (a quiet machine, 15 minutes)'
	@echo 'make campaigns  damaged input and kills in large numbers, in batches of under an hour: call it until all is done'
	@echo 'make docs    the documentation in both languages with sample reports, in docs/_build/html (the first time it measures for two minutes)'
	@echo 'make wheel   a wheel for Linux with glibc 2.28 or newer, in dist; make sdist: the source distribution'
	@echo 'make image   a container image with that wheel, by buildah (BASE=an image of Debian with Python 3.11)'

setup: $(ENGINE)
	@$(if $(filter setup,$(MAKECMDGOALS)),echo 'loadcell is ready: $(BIN)/loadcell (a first report: $(BIN)/loadcell run quickstart)',:)

compilers:
	@scripts/need cc:gcc,libc6-dev cargo:=https://rustup.rs venv:python3-venv

$(TOOLS): pyproject.toml constraints.txt scripts/need | compilers
	@echo 'setup, step 1 of 4: make the environment $(VENV)'
	$(PYTHON) -m venv $(VENV)
	@echo 'setup, step 2 of 4: update pip'
	$(BIN)/python -m pip install --quiet --upgrade pip
	@echo 'setup, step 3 of 4: install the Python packages (constraints.txt), about two minutes'
	scripts/still 30 'installing the Python packages' $(BIN)/python -m pip install --quiet --group dev
	@touch $@

$(ENGINE): $(TOOLS) engine/Cargo.lock $(shell find engine -name target -prune -o \( -name "*.rs" -o -name "*.[ch]" -o -name Cargo.toml \) -print)
	@echo 'setup, step 4 of 4: build the engine, some minutes, up to 15 on a busy machine'
	if [ -t 2 ] && [ -z "$${CI:-}" ]; then $(BIN)/maturin develop --release; \
	  else scripts/still 60 'building the engine' $(BIN)/maturin develop --release --quiet; fi
	@touch $@

demo: setup
	$(BIN)/loadcell run plans/quickstart.yaml

# Real parts for the tests: a PostgreSQL with its extensions, a MariaDB, Maven for other versions of both, servers of HTTP/2, tools that people know, a browser with
# fonts, a terminal.
system-packages: | compilers
	@scripts/need /usr/lib/postgresql/15/bin/postgres:postgresql-15 /usr/sbin/mariadbd:mariadb-server \
	  /usr/bin/redis-server:redis-server \
	  /usr/lib/$(shell uname -m)-linux-gnu/librocksdb.so:librocksdb-dev \
	  /usr/lib/$(shell uname -m)-linux-gnu/libsqlite3.so.0:libsqlite3-0 \
	  chromium:chromium \
	  /usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc:fonts-noto-cjk openssl:openssl tmux:tmux \
	  perf:linux-perf valgrind:valgrind pdftoppm:poppler-utils /usr/sbin/mkfs.ext4:e2fsprogs mount:mount \
	  mvn:maven javac:default-jdk-headless prometheus-node-exporter:prometheus-node-exporter setpriv:util-linux \
	  /usr/sbin/nginx:nginx-light nghttpd:nghttp2-server tc:iproute2 ip:iproute2 \
	  sysbench:sysbench fio:fio ab:apache2-utils wrk:wrk redis-benchmark:redis-tools iperf3:iperf3 mbw:mbw stress-ng:stress-ng \
	  pidstat:sysstat nmon:nmon top:procps \
  glusterd:glusterfs-server glusterfs:glusterfs-client nft:nftables

# What waits for the network, for a disk or for one thread of a compiler leaves a processor to the others.
test:
	@echo 'the engine, its tests, the tools and the packages side by side: each is told when it is done, some minutes from now'
	$(MAKE) --no-print-directory -j4 --output-sync=target lint unit-built tests-compiled system-packages
	$(MAKE) --no-print-directory unit e2e

lint: lint-python lint-rust

lint-python: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python scripts/lint-language
	$(BIN)/hadolint container/Dockerfile

lint-rust: compilers
	cd engine && cargo fmt --check
	cd engine && cargo clippy --quiet --workspace --all-targets -- -D warnings

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	cd engine && cargo fmt

unit-built: compilers
	cd engine && cargo test --quiet --no-run

# As in e2e, tests in real time that fail beside others are repeated once, one after the other.
unit: setup system-packages
	cd engine && { cargo test --quiet --no-fail-fast || { echo 'repeating the tests of the engine one after the other'; \
	  cargo test --quiet --no-fail-fast -- --test-threads 1; }; }

# Compiling the tests takes as long as collecting them: without this, four processes compile all of them at the same time. Errors are for e2e.
tests-compiled: setup
	$(BIN)/pytest --collect-only tests >/dev/null || true

# Much of it waits in real time, so four processes share the files out. Tests in real time that fail beside others are repeated once, alone.
e2e: setup system-packages
	cd engine && cargo build --quiet --examples
	$(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder tests || { status=$$?; test $$status -eq 1 || exit $$status; \
	  echo 'repeating the failed tests one after the other'; $(BIN)/pytest --last-failed --last-failed-no-failures none tests; }

bench: setup
	@scripts/need sysbench:sysbench mbw:mbw /usr/lib/postgresql/15/bin/postgres:postgresql-15 \
	  /usr/sbin/mariadbd:mariadb-server /usr/bin/redis-server:redis-server \
	  /usr/sbin/nginx:nginx-light wrk:wrk ab:apache2-utils \
	  fio:fio iperf3:iperf3 h2load:nghttp2-client mvn:maven javac:default-jdk-headless
	cd engine && cargo build --release --quiet --examples
	$(BIN)/python -m bench.client_cost
	$(BIN)/python -m bench.tpcc
	$(BIN)/python -m bench.client_cost_mysql
	$(BIN)/python -m bench.client_cost_redis
	$(BIN)/python -m bench.client_cost_http
	$(BIN)/python -m bench.client_cost_http2
	$(BIN)/python -m bench.client_cost_jvm
	$(BIN)/python -m bench.stream_cost
	$(BIN)/python -m bench.http_scenario
	$(BIN)/python -m bench.client_scaling
	$(BIN)/python -m bench.memory
	$(BIN)/python -m bench.connections
	$(BIN)/python -m bench.pacing
	$(BIN)/python -m bench.store_cost
	$(BIN)/python -m bench.store_scaling
	$(BIN)/python -m bench.files_cost
	$(BIN)/python -m bench.probes
	$(BIN)/python -m bench.probes_io
	$(BIN)/python -m bench.monitors
	$(BIN)/python -m bench.host_monitors
	$(BIN)/python -m bench.monitors_throughput
	$(BIN)/python -m bench.jvm_throughput
	$(BIN)/python -m bench.preload
	$(BIN)/python -m bench.startup
	$(BIN)/python -m bench.report_speed
	$(BIN)/python -m bench.import_speed
	$(BIN)/python -m bench.host_speed

# Each figure is measured again, and the page is made of all that could be, also where one did not hold.
truth: setup system-packages
	cd engine && cargo build --release --quiet --examples
	values=$$(mktemp); trap 'rm -f $$values' EXIT; ended=0; \
	  LOADCELL_TRUTH=full LOADCELL_TRUTH_VALUES=$$values $(BIN)/python -m pytest tests/truth || ended=$$?; \
	  $(BIN)/python scripts/accuracy-table $$values docs/reference/accuracy.md; exit $$ended

# A batch ends within the hour with exit status 4 as long as cases remain; the next call resumes there.
campaigns: setup
	cd tests && ../$(BIN)/python -m campaigns.driver --state ../campaigns-state.json

docs: setup
	$(BIN)/python -m pip install --quiet --group docs
	$(BIN)/python scripts/sample-reports docs/_build/extra/samples
	$(BIN)/sphinx-build -q -W --keep-going docs docs/_build/html

# For all of Linux since 2018: zig links against an old glibc, and auditwheel compares what the engine needs with the tag in the wheel's name.
wheel: wheel-tools
	scripts/wheel-data
	rm -rf dist/*.whl
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/maturin build --release --zig --compatibility manylinux_2_28 --out dist
	$(BIN)/auditwheel show dist/*.whl

sdist: wheel-tools
	scripts/wheel-data
	rm -rf dist/*.tar.gz
	$(BIN)/maturin sdist --out dist

wheel-tools: setup
	$(BIN)/python -m pip install --group wheel

image: wheel
	buildah build --format docker $(if $(BASE),--build-arg BASE=$(BASE)) --tag loadcell --file container/Dockerfile .

clean:
	rm -rf $(VENV) engine/target docs/_build dist
