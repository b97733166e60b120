# One verb per line below; `make help` prints them.
SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
PIP    := $(PY) -m pip --disable-pip-version-check --quiet
READY  := $(VENV)/.ready
DEV    := $(VENV)/.ready_dev

.PHONY: help schema install system demo test check format bench pins clean

help: ## print this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 10

install: $(READY) ## make .venv with everything `evolve` needs (pip only, wheels only)

system: ## install what pip cannot (git), or say how
	@if command -v git >/dev/null; then echo "system: git is here, nothing to install"; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends git; \
	else echo "system: git is missing; install it with your package manager (Debian: sudo apt-get install git)"; exit 3; fi

demo: $(READY) ## evolve a small agent on a local model, from nothing to a verdict
	@$(VENV)/bin/evolve demo

test: $(DEV) ## every test this machine can run
	@$(PY) -m pytest

check: $(DEV) ## ruff, mypy --strict, import contracts, pre-commit file
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy
	@$(VENV)/bin/lint-imports
	@$(VENV)/bin/pre-commit validate-config

format: $(DEV) ## rewrite files the way `check` wants them
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .

bench: $(DEV) ## quick form of every benchmark
	@for file in benchmarks/[a-z]*.py; do \
	  [ -e "$$file" ] || { echo "bench: benchmarks/ is empty"; exit 3; }; \
	  echo "$$file"; $(PY) "$$file" --quick; done

pins: ## recompile requirements/*.txt from pyproject.toml (needs uv on PATH)
	@export UV_CUSTOM_COMPILE_COMMAND="make pins"; set -- --quiet --no-emit-index-url --python-version 3.11; \
	uv pip compile "$$@" -o requirements/runtime.txt pyproject.toml; \
	uv pip compile "$$@" -o requirements/dev.txt -c requirements/runtime.txt --extra dev pyproject.toml

clean: ## remove .venv and caches
	@rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache build ./*.egg-info

$(READY): pyproject.toml requirements/runtime.txt requirements/nodeps.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed: make install PYTHON=/path/to/python3.11"; exit 2; }
	@echo "install: about 1 GB free disk and a minute or two; later calls are instant"
	@start=$$(date +%s); \
	$(PYTHON) -m venv $(VENV); \
	$(PIP) install --only-binary :all: -r requirements/runtime.txt; \
	$(PIP) install --only-binary :all: --no-deps -r requirements/nodeps.txt; \
	$(PIP) install --no-deps -e .; \
	echo $$(( $$(date +%s) - start )) > $(VENV)/.install_seconds; \
	touch $@; echo "install: done in $$(cat $(VENV)/.install_seconds) s"

$(DEV): $(READY) requirements/dev.txt
	@$(PIP) install --only-binary :all: -r requirements/dev.txt
	@touch $@

schema: $(READY) ## export the JSON schema of campaign.yaml to docs/
	@$(PY) -c "import json; from evolve.campaign.config import CampaignConfig as C; print(json.dumps(C.model_json_schema(), indent=1, ensure_ascii=False))" > docs/campaign.schema.json
