"""`python -m docs.project.compose`: writes the `env_file` of each service of `docker-compose.yml`.

Each file lists the settings that the service reads and the compose file does not set. Compose
takes their values from the shell or from `.env`. `--check` changes nothing and fails if a file
differs.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from heddle_runtime.settings.secret_files import SUFFIX

from docs.project.images import ROOT, read_compose
from docs.reference.settings import settings_by_package

FOLDER = ROOT / "docs/containers/env"
PACKAGES = {
    "gateway": "heddle_gateway",
    "orchestrator": "heddle_orchestrator",
    "tools-service": "heddle_tools_service",
    "knowledge": "heddle_knowledge",
    "connector": "heddle_connector",
    "assistants": "heddle_assistants",
    "migration-service": "heddle_migration_service",
}
"""Services, and the packages whose settings they read."""
ALL_IN_ONE = "all-in-one"
OF_TRACES = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_PROTOCOL",
    "OTEL_EXPORTER_OTLP_TIMEOUT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
    "OTEL_RESOURCE_ATTRIBUTES",
)
"""Variables of OpenTelemetry that all services read: not the name, which would be the same."""
# HEDDLE_IDENTITY_SECRET_FILE is set for all services at once, so nothing is generated.
_SET_ELSEWHERE = {"HEDDLE_IDENTITY_SECRET_FILE", "HEDDLE_LOCAL_SECRET_FILE"}
_WITHIN_ONE_PROCESS = re.compile(r"HEDDLE_(?!GATEWAY)\w+_LISTEN|HEDDLE_\w+_ADDRESS")
_HEADER = "# Written by `python -m docs.project.compose`. Values: the shell, `.env`.\n"


def environment_files() -> dict[Path, str]:
    """Return the content of each file by its path."""
    services = read_compose()["services"]
    return {
        FOLDER / f"{name}.env": _HEADER
        + "".join(f"{each}\n" for each in passed_on(name, services[name]["environment"]))
        for name in (*PACKAGES, ALL_IN_ONE)
    }


def settings_of(service: str) -> list[str]:
    """Return the settings that a service of the file reads."""
    by_package = settings_by_package()
    if service != ALL_IN_ONE:
        return by_package[PACKAGES[service]]
    names = {name for package in PACKAGES.values() for name in by_package[package]}
    names |= set(by_package["heddle_devstack"])
    return sorted(name for name in names if not _WITHIN_ONE_PROCESS.fullmatch(name))


def passed_on(service: str, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the variables that a service takes from the shell, beside those of its environment."""
    known = {*environment, *_SET_ELSEWHERE}
    # A secret that is in a file is refused if it is in the environment as well.
    known |= {name.removesuffix(SUFFIX) for name in known}
    for setting in settings_of(service):
        if setting not in known and not setting.endswith("_ADDRESS"):
            yield setting
    yield from OF_TRACES


def main() -> int:
    """Write or check the files, and return the exit code."""
    checks = "--check" in sys.argv
    outdated = [
        file
        for file, text in environment_files().items()
        if not file.exists() or file.read_text() != text
    ]
    for file in outdated:
        if not checks:
            file.write_text(environment_files()[file])
        else:
            print(f"{file.name} is out of date: run `python -m docs.project.compose`")  # noqa: T201 - the command's output
    return int(checks and bool(outdated))


if __name__ == "__main__":
    sys.exit(main())
