# The same commands for people and for CI. `make` alone lists them.
PYTHON ?= python3
VENV := .venv/bin
NODE := $(VENV)/node
export PATH := $(CURDIR)/$(VENV):$(PATH)

.PHONY: help demo test unit js types lint format docs docs-serve bench screenshots clean setup-demo setup python

help: ## List the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 12

demo: setup-demo ## Show the example apps in fanlight dev; EXAMPLE=clock serves one of them to your own client
	@$(VENV)/python scripts/demo.py $(EXAMPLE)

test: lint types js docs unit ## Set everything up and run every check

unit: setup ## The Python tests
	$(VENV)/pytest

js: setup ## The JavaScript tests, under Node
	$(NODE) --test tests/js/*.test.js

types: setup ## Both type checkers
	$(VENV)/mypy
	$(NODE) node_modules/typescript/bin/tsc -p tsconfig.json
	$(NODE) node_modules/typescript/bin/tsc -p tsconfig.pages.json

lint: setup ## Lint and formatting
	$(VENV)/ruff check
	$(VENV)/ruff format --check
	$(NODE) node_modules/eslint/bin/eslint.js src tests bench docs/assets

format: setup ## Write the formatting
	$(VENV)/ruff check --fix
	$(VENV)/ruff format

docs: setup ## The documentation site, into build/site; fails for a broken link
	$(VENV)/python scripts/docs.py build

docs-serve: setup ## The same on this machine, reloaded as pages change
	$(VENV)/python scripts/docs.py serve

bench: setup ## The benchmarks, as ratios against peers in one run
	$(VENV)/python bench/run.py

screenshots: setup ## The pictures in docs/images
	$(VENV)/python scripts/screenshots.py

clean: ## Remove what the other commands made
	rm -rf .venv node_modules build .cache bench/.peers .pytest_cache .mypy_cache .ruff_cache

setup-demo: python
	@$(PYTHON) scripts/setup.py demo

setup: python
	@$(PYTHON) scripts/setup.py test

python: # asked by the shell, since a Python that is too old cannot even read scripts/setup.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "setup: $(PYTHON) is missing or older than 3.11: apt-get install python3 python3-venv, or name another with make PYTHON=python3.11" >&2; exit 1; }
