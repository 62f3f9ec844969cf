# Drover: what can be done here. `make` alone lists it.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PORT ?= 8080
DATA_DIR ?= .drover
ONLY ?=
# More than cores: most tests wait for a server. A few tests (ONLY) are done before several workers have found them.
WORKERS ?= $(if $(ONLY),0,5)
OPTIONS ?=
# CONTAINERS=1: the tests' NATS and PostgreSQL are containers of the official images; it needs a Docker engine.
CONTAINERS ?=
export CONTAINERS
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
# Without bytecode on disk, every test worker and every platform that a test starts compiles all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  \033[1m%-12s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(STAMP) ## Make .venv with everything pinned in it (does nothing the second time)

$(STAMP): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Drover needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version). Set PYTHON=python3.x"; exit 1; }
	@echo "Setting up $(VENV) (once; a minute or two)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

DASHBOARD := services/dashboard
NPM := $(BIN)/python $(DASHBOARD)/npm.py --prefix $(DASHBOARD) --silent
SOURCES := $(shell find $(DASHBOARD)/src $(DASHBOARD)/public -type f 2>/dev/null) $(DASHBOARD)/index.html $(DASHBOARD)/vite.config.ts

.PHONY: dashboard
dashboard: $(DASHBOARD)/dist/index.html ## Build the dashboard (does nothing if nothing has changed)

$(DASHBOARD)/node_modules/.ready: $(DASHBOARD)/package-lock.json | setup
	@$(NPM) ci --no-audit --no-fund
	@touch $@

$(DASHBOARD)/dist/index.html: $(DASHBOARD)/node_modules/.ready $(SOURCES)
	@echo "Building the dashboard"
	@$(NPM) run build > /dev/null
	@$(NPM) run size
	@touch $@

.PHONY: wheel
wheel: setup dashboard ## Build the wheel, dashboard included, into build/
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir build .

.PHONY: image
image: ## Build the container image that all services share
	@docker build --file deploy/Dockerfile --tag drover:$$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml) .

.PHONY: demo
demo: setup dashboard ## Run the whole platform with a simulated farm: http://127.0.0.1:$(PORT)
	@exec $(BIN)/drover up --data-dir $(DATA_DIR) --port $(PORT) --demo

PYTEST := $(BIN)/python -m pytest
TESTS := tests --ignore=tests/bench
ALONE = $(shell grep -rl 'mark\.alone' tests --include='test_*.py')  # collecting all of them again takes a while

# Vitest, for the dashboard, runs while the other tests wait for servers. What it says is printed after theirs.
.PHONY: test
test: setup dashboard ## Run the tests (real NATS, real Postgres, started and stopped by the tests)
	@$(if $(ONLY),$(PYTEST) $(TESTS) -n $(WORKERS) -k "$(ONLY)", \
	  failed=0; said=$$(mktemp); $(NPM) run test > $$said 2>&1 & vitest=$$!; \
	  trap 'kill $$vitest 2> /dev/null; rm -f $$said; exit 130' INT; \
	  $(PYTEST) $(TESTS) -n $(WORKERS) -m "not alone" || failed=1; \
	  wait $$vitest || failed=1; cat $$said; rm -f $$said; \
	  $(PYTEST) $(ALONE) -m alone || failed=1; exit $$failed)

.PHONY: screenshots
screenshots: setup dashboard ## Take pictures of every screen with the demo running into docs/screenshots: some minutes
	@$(BIN)/python -m tests.browser.screenshots $(OPTIONS)

.PHONY: unit
unit: setup ## Run the tests that need no server: about a minute
	@$(PYTEST) tests/unit -q -n 4 -m "not alone"

DOCS_STAMP := $(VENV)/.docs-ready

$(DOCS_STAMP): requirements/docs.txt $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/docs.txt
	@touch $@

# Not with --quiet: the build would not see its own warnings, and a broken link would pass.
.PHONY: docs
docs: $(DOCS_STAMP) ## Build the documentation as a site into build/site; a broken link fails it
	@$(BIN)/python -m tools.docs write
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --clean --config-file build/docs/mkdocs.yml
	@$(BIN)/python -m tools.docs check
	@echo "Open build/site/index.html"

.PHONY: lint
lint: setup $(DASHBOARD)/node_modules/.ready ## Check style, types and layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(NPM) run lint
	@$(NPM) run types

.PHONY: format
format: setup ## Format the code
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/ruff format .

.PHONY: contracts
contracts: setup ## Write the published contracts anew from the code; refuses an incompatible change
	@$(BIN)/python -m tools.read_model_sql
	@$(BIN)/python -m tools.messages
	@$(BIN)/python -m tools.snapshots
	@$(BIN)/python -m tools.openapi
	@$(BIN)/python -m tools.metrics_document
	@$(BIN)/python -m tools.grafana.dashboards
	@$(BIN)/python -m tools.nats_users
	@$(NPM) run contract

.PHONY: bench
bench: setup ## Measure against raw limits in the same run; ONLY=spine for a part; writes build/bench.json
	@$(BIN)/python -m tests.bench $(ONLY)

.PHONY: soak
soak: setup ## 500 PCs and 10,000 simulated phones for 10 minutes, leaders killed, then an audit; OPTIONS="--pcs 50 --minutes 2"
	@$(BIN)/python -m tests.soak $(OPTIONS)

.PHONY: chaos
chaos: setup ## Three NATS nodes and two of every service; nodes and leaders killed under load, then an audit
	@$(BIN)/python -m tests.chaos $(OPTIONS)

REQUESTS ?= 100000

.PHONY: fuzz
fuzz: setup ## Send made-up and malformed requests to a platform: REQUESTS=1000000; writes build/fuzz.json
	@$(BIN)/python -m tests.fuzz --requests $(REQUESTS) $(OPTIONS)

.PHONY: upgrade
upgrade: setup ## Play an upgrade under load from another commit to this one: FROM=main
	@$(BIN)/python -m tests.upgrade.writers $(FROM)
	@$(BIN)/python -m tests.upgrade $(FROM) $(OPTIONS)

.PHONY: sbom
sbom: setup ## List all packages that are shipped (CycloneDX) in requirements/sbom.cdx.json
	@$(BIN)/python -m tools.sbom

.PHONY: audit
audit: setup ## Look for known vulnerabilities of all pinned packages; OPTIONS="--advisories FOLDER" without the internet
	@$(BIN)/python -m tools.dependency_audit $(OPTIONS)

# A container has no servers of its own, but whatever it may be set to use.
IMAGE_EXTRAS := webpush apprise sentry otel s3

.PHONY: lock
lock: setup ## Pin the dependencies anew, with hashes
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  --extra embedded pyproject.toml -o requirements/runtime.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  --extra embedded pyproject.toml requirements/dev.in -c requirements/runtime.txt -o requirements/dev.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  $(IMAGE_EXTRAS:%=--extra %) pyproject.toml -c requirements/runtime.txt -o requirements/image.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  requirements/build.in -c requirements/dev.txt -o requirements/build.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  requirements/docs.in -c requirements/dev.txt -o requirements/docs.txt
	@$(BIN)/python -m tools.sbom

.PHONY: clean
clean: ## Remove what was built (not the data directory)
	@rm -rf $(VENV) $(DASHBOARD)/node_modules $(DASHBOARD)/dist build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
