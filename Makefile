# Every target sets up what it needs by itself.
SHELL := /bin/bash
VENV := .venv
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)

# Bounds of the stages of `make test`, in seconds. Parts are built with cold caches only.
CHECK_LIMIT := 300
FAST_LIMIT := 600
PARTS_LIMIT := 3000
VM_LIMIT := 3600

# For test-all: which part of the matrix, e.g. SHARD=1/4.
SHARD := 1/1

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: setup
setup: ## Install everything on a fresh Debian 12+ or Ubuntu 22.04+ (root or sudo); only what is missing
	@scripts/setup.sh

.PHONY: python
python: ## Make the virtual environment only: needs no root where Python has venv
	@scripts/setup.sh python

.PHONY: check
check: python ## Lint, formatting, types, architecture: seconds
	ruff check .
	ruff format --check .
	mypy
	pytest -q tests/architecture

.PHONY: format
format: python ## Format the code and mend what the linter can mend
	ruff check --fix .
	ruff format .

.PHONY: test-fast
test-fast: python ## The tests that need neither a machine nor patience: under a minute
	pytest -q -n auto --dist worksteal tests/unit -m "not vm and not slow" --timeout 60

.PHONY: test
test: setup ## What CI runs: check, unit, faults, then the tests on real machines
	@scripts/stages.py \
	  --stage check  $(CHECK_LIMIT) "$(MAKE) --no-print-directory check" \
	  --stage unit   $(FAST_LIMIT)  "pytest -q tests/unit -m 'not vm' --timeout 60" \
	  --stage faults $(FAST_LIMIT)  "pytest -q tests/faults -m 'not vm' --timeout 120" \
	  --stage parts  $(PARTS_LIMIT) "flexlab prepare --suite bookworm --suite trixie" \
	  --stage vm     $(VM_LIMIT)    "pytest -v -m 'vm and not full' --no-vm-skips"
	@echo "Next: make demo (see it work), make bench (figures), make test-all SHARD=1/4 (the full matrix)"

.PHONY: test-all
test-all: setup ## The full matrix; SHARD=1/4 runs a part, a second run continues where the first stopped
	@scripts/test_all.sh $(SHARD)

.PHONY: bench
bench: setup ## Measure against the reference points; a table, build/bench.json, build/bench-timeline.svg
	@flexlab bench --json build/bench.json --timeline build/bench-timeline.svg

.PHONY: demo
demo: setup ## A node's whole life on a real cluster, on this machine
	@flexlab demo

.PHONY: catalog
catalog: python ## Check the catalog's layout; scripts/update_catalog.py --help tells how to add versions
	@scripts/update_catalog.py format --check

.PHONY: dist
dist: python ## Archives to install, for each line of Python and each architecture, in dist/
	@scripts/build_dist.py

.PHONY: lock
lock: ## Resolve the Python dependencies anew into requirements/*.txt
	scripts/lock.sh

.PHONY: clean
clean: ## End all labs and remove what was built here; caches outside the checkout stay
	@if [ -x $(VENV)/bin/flexlab ]; then flexlab down --all; fi
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
