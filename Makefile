.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
STATE := .heddle
# uv lives in a folder of its own: the project's environment holds only what the project imports.
UV := $(STATE)/uv/bin/uv
UV_VERSION := 0.13.9
RUN := $(UV) run --frozen
STAMP := $(VENV)/.synced

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "%-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(UV):
	@$(PYTHON) -m venv $(STATE)/uv
	@$(STATE)/uv/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

$(STAMP): $(UV) uv.lock pyproject.toml $(wildcard */pyproject.toml services/*/pyproject.toml)
	@$(UV) sync --frozen --all-packages --all-groups --quiet
	@touch $@

install: $(STAMP) ## Install everything into .venv

proto: $(STAMP) ## Format the contracts and generate their Python
	cd protos && ../$(VENV)/bin/buf format -w && ../$(VENV)/bin/python generate.py

format: $(STAMP) ## Format the code
	$(RUN) ruff check --fix-only --quiet . && $(RUN) ruff format .

lint: $(STAMP) ## Check style, types, layers and contracts
	$(RUN) ruff check . && $(RUN) ruff format --check .
	$(RUN) mypy
	$(RUN) lint-imports
	cd protos && ../$(VENV)/bin/buf lint && ../$(VENV)/bin/buf format -d --exit-code

test: $(STAMP) ## Run the tests
	$(RUN) pytest

.PHONY: help install proto format lint test
