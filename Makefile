# Needs Python 3.11 or newer and make; everything else is installed into .venv.
PYTHON ?= python3
BIN := .venv/bin
MEDS ?= ../shared/mimic/demo_meds

.PHONY: demo demo-real test check bench validity clean help

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

test: .venv/tested ## Pass all tests
	$(BIN)/pytest -n auto --dist loadfile

check: .venv/tested ## What CI runs: format, lint, types, rooms, tests, no patient data
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python scripts/no_patient_data.py $$(git ls-files)
	$(MAKE) test

bench: .venv/tested ## Measure speed and memory, as ratios in one run (bench/RESULTS.md)
	for each in bench/*.py; do $(BIN)/python $$each || exit 1; done

validity: .venv/tested ## Measure the readings of notes on held-out sentences (docs/validity.md)
	$(BIN)/python scripts/validity.py

clean: ## Remove what was made
	rm -rf .venv out
