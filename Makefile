# Every target works from a fresh clone; `make` alone says what there is.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
NODE := .cache/node
AXE := .cache/axe
BROWSER := .cache/chromium-found
BIGQUERY := .cache/bigquery
PYTHONS := python3.11 python3.12 python3.13 python3
PYTEST_ARGS ?= -n 2 --dist loadfile

# Without byte code every Airflow command pays two to five seconds.
unexport PYTHONDONTWRITEBYTECODE

RESOLVE := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --no-annotate
COMPILE := $(RESOLVE) --python-version 3.11 $(LOCK_ARGS)

.PHONY: help setup run up down test bench check docs lock clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## create .venv from the hashed locks (again only when they change)

run: setup ## run the DAG in Airflow over the samples; decisions, tables and logs land in var/
	@$(BIN)/python scripts/nightly.py

up: setup ## Airflow with scheduler and UI on this machine, over the samples or EVALBENCH_RUNS (PORT=8080)
	@$(BIN)/python -m scripts.stack up $(if $(PORT),--port $(PORT))

down: setup ## stop what make up started; its data stays in var/stack
	@$(BIN)/python -m scripts.stack down

test: check $(NODE)/installed $(AXE)/installed $(BROWSER) $(BIGQUERY)/installed ## check, then every test
	@$(BIN)/pytest $(PYTEST_ARGS)

bench: setup ## a quiet night over 2,000 directories, and what batches save; see benchmarks/README.md
	@$(BIN)/python -m benchmarks.quiet_night
	@$(BIN)/python -m benchmarks.batches

check: setup ## lint, format, types, import contracts, generated docs
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --cache-dir .cache/imports
	@$(BIN)/evalbench schema --format md | diff -u docs/tables.md - \
		|| { echo "docs/tables.md is not what the table declarations say: run make docs"; exit 1; }

docs: setup ## regenerate docs/tables.md from the table declarations
	@$(BIN)/evalbench schema --format md > docs/tables.md.new
	@mv docs/tables.md.new docs/tables.md

lock: setup ## resolve pyproject.toml anew into the hashed locks (LOCK_ARGS=--upgrade for newer versions)
	@$(COMPILE) pyproject.toml --group dev --output-file requirements-dev.lock > /dev/null
	@$(COMPILE) pyproject.toml --constraint requirements-dev.lock --output-file requirements.lock > /dev/null
	@$(COMPILE) pyproject.toml --group image --constraint requirements-dev.lock --output-file requirements-image.lock > /dev/null
	@$(COMPILE) --group build --constraint requirements-dev.lock --output-file requirements-build.lock > /dev/null
	@$(RESOLVE) --python-version 3.13 $(LOCK_ARGS) --group bigquery \
		--output-file tests/cloud/requirements-bigquery.lock > /dev/null

clean: ## make down, then remove .venv, var/, dist/ and every cache
	@if [ -e var/stack/stack.json ]; then $(BIN)/python -m scripts.stack down; fi
	@rm -rf $(VENV) var dist .cache .pytest_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# pip brings uv; uv then makes the environment exactly what the lock says, in ten seconds where pip takes forty and
# leaves behind what a lock no longer names. Both check hashes.
$(STAMP): pyproject.toml requirements.lock requirements-dev.lock requirements-build.lock
	@if ! $(BIN)/python -c 'import pip' 2> /dev/null; then \
		for python in $(PYTHONS); do \
			if $$python -c 'import ensurepip, sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2> /dev/null; then \
				echo "creating $(VENV) with $$($$python --version)"; \
				$$python -m venv --clear $(VENV); \
				break; \
			fi; \
		done; \
	fi
	@$(BIN)/python -c 'import pip' 2> /dev/null || { \
		echo "make setup needs Python 3.11, 3.12 or 3.13 with venv and ensurepip (Debian: python3-venv)" \
			"on the PATH; looked for: $(PYTHONS)"; exit 1; }
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements-build.lock
	@$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements-dev.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

# A second Gemini-compatible server, which tests/gemini doubts its own with. Without npm those few tests fail and say so.
$(NODE)/installed: tests/gemini/package.json tests/gemini/package-lock.json
	@if command -v npm > /dev/null; then \
		mkdir -p $(NODE); \
		cp $^ $(NODE); \
		npm ci --prefix $(NODE) --ignore-scripts --no-audit --no-fund --loglevel=error > /dev/null; \
		touch $@; \
	fi

# What tests/page asks about accessibility. Without npm those tests fail and say so.
$(AXE)/installed: tests/page/package.json tests/page/package-lock.json
	@if command -v npm > /dev/null; then \
		mkdir -p $(AXE); \
		cp $^ $(AXE); \
		npm ci --prefix $(AXE) --ignore-scripts --no-audit --no-fund --loglevel=error > /dev/null; \
		touch $@; \
	fi

# The browser of tests/page: Debian's, where this may install it. Without one those tests fail and say so.
$(BROWSER):
	@mkdir -p $(@D)
	@if command -v chromium chromium-browser google-chrome > /dev/null; then \
		touch $@; \
	elif command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ]; then \
		echo "installing chromium for tests/page"; \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium; } \
			> /dev/null && touch $@ || echo "chromium could not be installed: the tests of the page will fail"; \
	else \
		echo "no chromium on the PATH: the tests of the page will fail (Debian: apt-get install chromium)"; \
	fi

# A BigQuery for tests/cloud, which needs a Python of its own: found by itself, or install.py says what is missing.
$(BIGQUERY)/installed: tests/cloud/install.py tests/cloud/requirements-bigquery.lock | $(STAMP)
	@$(BIN)/python -m tests.cloud.install
