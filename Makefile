# SPDX-License-Identifier: MIT OR Apache-2.0
# `make run` sets everything up and runs the main example; `make test` has to pass before a merge.
# Every step leaves a stamp. It runs again only if one of its dependencies has changed.

VENV := .venv
PYTHON := $(VENV)/bin/python
STAMPS := $(VENV)/stamps
SHELL_VENV := .venv-p4runtime-shell
CARGO := cargo --locked
PIP := pip install --quiet --disable-pip-version-check --no-input
ENGINE := $(shell find engine -name target -prune -o \( -name '*.rs' -o -name '*.toml' -o -name '*.p4' -o -name Cargo.lock \) -print)

# The folder where rustup puts cargo, even if it is not on the shell's PATH.
export PATH := $(PATH):$(HOME)/.cargo/bin
export VIRTUAL_ENV := $(CURDIR)/$(VENV)

GOALS := setup pgo dev wheel test-wheel test-oldest lock run artifact test lint pytest real-time cargo-test miri tsan deny fuzz compare \
	determinism reference conformance differential ns3 hosts bench notices page vscode docs clean
.PHONY: $(GOALS)

# The lab's environment; `dev` adds the packages of the tests.
setup: $(STAMPS)/engine

dev: setup $(STAMPS)/dev $(STAMPS)/p4runtime-shell

# The same engine, optimised by a profile of typical runs (`rustup component add llvm-tools`): it is built twice. Not for
# wheels, whose linker does not know the options of a build that counts.
pgo: $(STAMPS)/python
	@rm -f $(STAMPS)/engine
	@tools/attempt "building the engine by its profile" "" $(VENV)/bin/maturin develop --release --locked --pgo
	@touch $(STAMPS)/engine

# The lab as one file for pip, in dist/: engine, package and data. Zig links it, so that it runs with glibc 2.28 and newer.
# Zig is a Python package here; without the variable, cargo-zigbuild would look for it in the first `python3` on PATH.
COMMIT := orchestrator/marklab/data/commit

wheel: $(STAMPS)/wheel
	rm -rf dist
	git describe --always --dirty --abbrev=40 --exclude='*' > $(COMMIT)
	CARGO_ZIGBUILD_PYTHON_PATH='$(CURDIR)/$(PYTHON)' \
		$(VENV)/bin/maturin build --release --locked --zig --compatibility manylinux_2_28 --out dist; \
		code=$$?; rm -f $(COMMIT); exit $$code
	$(VENV)/bin/auditwheel show dist/*.whl

# The wheel on a machine with nothing else installed, in chroots of bare Debian 12 and 13. Needs root and debootstrap.
test-wheel: wheel dev
	$(PYTHON) -m pytest tests/wheel

# The tests with the oldest direct dependencies that pyproject.toml allows.
OLDEST := .venv-oldest
UV = VIRTUAL_ENV=$(CURDIR)/$(OLDEST) $(VENV)/bin/uv

test-oldest: wheel dev
	$(PYTHON) -m $(PIP) uv
	rm -rf $(OLDEST)
	$(UV) venv --quiet --python $(PYTHON) $(OLDEST)
	$(UV) pip install --quiet --resolution lowest-direct -r pyproject.toml
	$(UV) pip freeze > $(OLDEST)/oldest.txt
	$(UV) pip install --quiet --constraint $(OLDEST)/oldest.txt --group test
	$(UV) pip install --quiet --no-deps dist/*.whl
	$(OLDEST)/bin/python -m pytest -n $(shell nproc) --dist worksteal -m 'not real_time' --ignore tests/test_doc_commands.py

# Exact versions of all installed packages, from the ranges in pyproject.toml; UPGRADE=1 looks for newer versions.
PIN = $(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
	--no-emit-index-url --annotation-style line --custom-compile-command 'make lock' $(if $(UPGRADE),--upgrade)

lock:
	$(PYTHON) -m $(PIP) uv
	$(PIN) pyproject.toml --group build -o requirements/lab.txt
	$(PIN) pyproject.toml --group build --group test -c requirements/lab.txt -o requirements/test.txt
	$(PIN) pyproject.toml --group wheel -c requirements/lab.txt -o requirements/wheel.txt
	$(PIN) --group p4runtime-shell -o requirements/p4runtime-shell.txt

run: setup
	$(PYTHON) orchestrator.py --scheme diffecn --load 0.8

# An experiment of a paper for a committee that evaluates artifacts: docs/artifact.md. `make artifact ID` and
# `make artifact ID=...` are the same; QUICK=1 and OUT=folder are options. The word after `artifact` is not a goal.
ifeq ($(firstword $(MAKECMDGOALS)),artifact)
BEHIND := $(wordlist 2,$(words $(MAKECMDGOALS)),$(MAKECMDGOALS))
ifneq ($(BEHIND),)
IDS := $(BEHIND) $(if $(filter command,$(origin ID)),$(ID))
ifneq ($(words $(IDS)),1)
$(error `make artifact` takes one ID, not `$(strip $(IDS))`; try: make artifact ecnsharp-micro)
endif
ID := $(BEHIND)
ifneq ($(filter $(ID),$(GOALS)),)
$(error `$(ID)` is a goal of this Makefile and no experiment; try: python orchestrator.py reproduce list)
endif
.PHONY: $(ID)
$(ID): ;@:
endif
ifeq ($(ID),)
$(error `make artifact` needs the ID of an experiment; try: make artifact ecnsharp-micro)
endif
endif

artifact: setup
	$(PYTHON) orchestrator.py artifact '$(ID)' $(if $(QUICK),--quick) $(if $(OUT),--out '$(OUT)')

test: setup lint pytest real-time cargo-test fuzz

# It needs no engine, so that it can run while one is built.
lint: $(STAMPS)/dev
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	PYTHONPATH=orchestrator $(VENV)/bin/lint-imports --no-cache
	REUSE_ENCODING_MODULE=charset_normalizer $(VENV)/bin/reuse lint --lines
	cd engine && $(CARGO) fmt --all --check
	cd engine && $(CARGO) clippy --workspace --all-targets -- -D warnings

# On all cores, without the tests that need the machine for themselves.
pytest: dev
	$(PYTHON) -m pytest -n $(shell nproc) --dist worksteal -m 'not real_time'

# Real switches and hosts; tests that need missing tools are skipped.
real-time: dev
	$(PYTHON) -m pytest -m real_time

cargo-test: setup
	cd engine && $(CARGO) test --workspace --quiet

# The reference sweep, run with the present lab and compared with results/reference: docs/ci.md. The comparison reports
# cells that failed, so it runs even if the sweep fails.
REFERENCE := results/reference
COMPARED := target/compare

compare: setup
	rm -rf $(COMPARED)
	-$(PYTHON) orchestrator.py sweep $(REFERENCE)/sweep.yaml --no-flows --out $(COMPARED)
	$(PYTHON) orchestrator.py compare $(REFERENCE) $(COMPARED)/reference-* --policy $(REFERENCE)/policy.yaml --out $(COMPARED)

# Renews the reference of `make compare`; docs/ci.md explains when.
RENEWED := target/reference

reference: setup
	rm -rf $(RENEWED)
	$(PYTHON) orchestrator.py sweep $(REFERENCE)/sweep.yaml --no-flows --no-report --out $(RENEWED)
	rm -rf $(REFERENCE)/cells
	rm $(RENEWED)/reference-*/sweep.yaml
	cp -r $(RENEWED)/reference-*/* $(REFERENCE)

# The programs of p4c's tests, from a checkout: make conformance P4C_CHECKOUT=<folder>
conformance: setup
	$(PYTHON) -m marklab.p4tools.peers.conformance "$(P4C_CHECKOUT)"

# The same packets through BMv2, with p4c-bm2-ss and simple_switch on PATH; writes docs/differential.md.
differential: setup
	$(PYTHON) -m marklab.p4tools.peers.differential

# The same flows here and in ns-3, with g++ and libns3-dev; writes the tables of docs/ns3.md.
ns3: setup
	$(PYTHON) -m marklab.ns3 --record

# Scripts of marks, losses and delays through simulated hosts and Linux, where Mininet is; writes the tables of docs/hosts.md.
RANDOM_SCRIPTS ?= 200

hosts: setup
	$(PYTHON) -m marklab.hosts --random $(RANDOM_SCRIPTS) --record

# The tests of the pipeline that need no machine code, under Miri, which needs a nightly toolchain. Tests of table rows are
# left out: the rows are safe code, and their property tests take an hour under Miri.
MIRI_TOOLCHAIN ?= nightly

miri:
	cd engine && MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=4 cargo +$(MIRI_TOOLCHAIN) miri test --locked -p marklab-pipeline --lib \
		-- --skip table::rows

# Cells of all quick experiments on up to 16 threads: the same bytes.
determinism: dev
	PYTHONPATH=tests $(PYTHON) tests/determinism.py

# Runs on several threads under ThreadSanitizer, with a nightly toolchain and its rust-src.
tsan:
	cd engine && RUSTFLAGS=-Zsanitizer=thread PROPTEST_CASES=400 CARGO_TARGET_DIR=target/tsan cargo +$(MIRI_TOOLCHAIN) test --locked \
		-Zbuild-std --target $$(rustc -vV | sed -n 's/host: //p') -p marklab-netsim --test network threads

# Licences, sources and known vulnerabilities of the crates; needs `cargo install --locked cargo-deny`.
deny:
	cd engine && $(CARGO) deny --locked check

# Random sources, packets and table entries; SEED= starts another search. See engine/fuzz.
SECONDS ?= 20
SEED ?= 1

fuzz: setup
	cd engine && $(CARGO) run --quiet -p marklab-fuzz -- --seconds $(SECONDS) --seed $(SEED)

bench: setup
	$(MAKE) -C bench PYTHON=$(CURDIR)/$(PYTHON)

# Third-party code in the wheel; run it after adding or removing a crate.
notices: setup
	$(PYTHON) tools/third_party_notices.py

# The studio's page, from studio/, with Node; `orchestrator/marklab/studio/page` has it for those without.
page: studio/node_modules
	cd studio && npm run --silent check && npm run --silent build

studio/node_modules: studio/package-lock.json
	cd studio && npm ci --no-audit --no-fund --ignore-scripts
	@touch $@

# The extension for VS Code, with Node: editors/vscode/marklab-p4-<version>.vsix.
vscode: editors/vscode/node_modules
	cd editors/vscode && npm run --silent check && npm run --silent package

editors/vscode/node_modules: editors/vscode/package-lock.json
	cd editors/vscode && npm ci --no-audit --no-fund --ignore-scripts --prefer-offline
	@touch $@

# The pages of docs/ as a site: site/index.html.
docs: dev
	$(VENV)/bin/mkdocs build --quiet --strict

clean:
	rm -rf $(VENV) $(SHELL_VENV) $(OLDEST) dist site target engine/target .mypy_cache .pytest_cache .ruff_cache .hypothesis

# A step that fails names the remedy and removes what it left incomplete, but nothing that was complete before.
new = $(if $(wildcard $(1)),,$(2))

$(STAMPS)/python: requirements/lab.txt
	@python=$$(tools/preflight) && tools/attempt "making a virtual environment" "$(call new,$@,$(VENV))" $$python -m venv $(VENV)
	@tools/attempt "installing Python packages" "$(call new,$@,$(VENV))" $(PYTHON) -m $(PIP) -r requirements/lab.txt
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/dev: $(STAMPS)/python requirements/test.txt
	@tools/attempt "installing Python packages of the tests" "" $(PYTHON) -m $(PIP) -r requirements/test.txt
	@touch $@

$(STAMPS)/wheel: $(STAMPS)/python requirements/wheel.txt
	@tools/attempt "installing what builds wheels" "" $(PYTHON) -m $(PIP) -r requirements/wheel.txt
	@touch $@

$(STAMPS)/p4runtime-shell: $(STAMPS)/python requirements/p4runtime-shell.txt
	@tools/attempt "making a virtual environment" "$(call new,$@,$(SHELL_VENV))" $(PYTHON) -m venv $(SHELL_VENV)
	@tools/attempt "installing p4runtime-shell" "$(call new,$@,$(SHELL_VENV))" \
		$(SHELL_VENV)/bin/python -m $(PIP) -r requirements/p4runtime-shell.txt
	@touch $@

$(STAMPS)/engine: $(STAMPS)/python $(ENGINE)
	@tools/attempt "building the engine" "" $(VENV)/bin/maturin develop --release --locked
	@touch $@
