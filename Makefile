# The same commands for people and for CI. `make` alone lists them.
PYTHON ?= python3
VENV := .venv/bin
NODE := $(VENV)/node
export PATH := $(CURDIR)/$(VENV):$(PATH)

TIMED = $(VENV)/python scripts/timed.py
# Tests are moved from the busier to the idler process while they run, and those of a file mostly stay together.
PARALLEL = -n auto --dist worksteal
PYTEST = $(VENV)/pytest $(PARALLEL)
# Each of the static checks uses one core, so two run at once; make 3.81 of macOS cannot keep their output apart.
TOGETHER = $(MAKE) --no-print-directory -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync)

.PHONY: help demo test quick unit fast js types lint format docs docs-serve coverage stress faults bench screenshots clean \
  setup-demo setup python

help: ## List the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 12

demo: setup-demo ## Show the example apps in fanlight dev; EXAMPLE=clock serves one of them to your own client
	@$(VENV)/python scripts/demo.py $(EXAMPLE)

# Tests of tests/docs build the documentation site as `make docs` does.
test: setup ## Set everything up and run every check
	@$(TIMED) "make test" sh -c '$(TOGETHER) lint types js && $(MAKE) --no-print-directory unit'

quick: setup ## The checks that need neither a browser nor child processes
	@$(TIMED) "make quick" sh -c '$(TOGETHER) lint types js && $(MAKE) --no-print-directory fast'

unit: setup ## The Python tests
	$(PYTEST)

fast: setup ## The Python tests that start neither a browser nor a child process
	$(PYTEST) -m "not browser and not process"

coverage: setup ## Line and branch coverage of each package, by all Python tests, and of the JavaScript, by those of Node
	$(PYTEST) --cov --cov-report=
	$(VENV)/python scripts/coverage_table.py
	$(NODE) --test --experimental-test-coverage --test-coverage-include='src/fanlight/browser/*.js' \
	  --test-coverage-exclude='src/fanlight/browser/mcp-app*.js' \
	  --test-reporter=./scripts/coverage_reporter.mjs tests/js/*.test.js

stress: setup ## The tests, three times on a busy machine; ARGS="tests/host --runs 5" runs others
	$(VENV)/python scripts/stress.py $(PARALLEL) $(ARGS)

faults: setup ## Random faults of workers and databases; RUNS=200 SEED=7 has 200 of them, with other random numbers
	FAULT_RUNS=$(or $(RUNS),60) FAULT_SEED=$(or $(SEED),1) $(VENV)/pytest tests/workers/test_faults.py -k random

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
	$(NODE) node_modules/prettier/bin/prettier.cjs --check --log-level warn .

format: setup ## Write the formatting
	$(VENV)/ruff check --fix
	$(VENV)/ruff format
	$(NODE) node_modules/eslint/bin/eslint.js --fix src tests bench docs/assets
	$(NODE) node_modules/prettier/bin/prettier.cjs --write --log-level warn .

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
