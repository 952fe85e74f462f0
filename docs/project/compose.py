"""`python -m docs.project.compose`: lists every setting of each service in `docker-compose.yml`.

Below the comment `MARK`, each service lists the settings that Compose passes on from the
environment. `--check` changes nothing and fails if the lists are not complete.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from heddle_runtime.secret_settings import SUFFIX

from docs.reference.settings import ROOT, settings_by_package

FILE = ROOT / "docker-compose.yml"
MARK = "      # Without a value here: taken from the environment, if it is there.\n"
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
_SERVICE = re.compile(r"^  (?P<name>[a-z-]+):\n(?:^(?: {4}.*)?\n)*", re.MULTILINE)
_LISTED = re.compile(re.escape(MARK) + r"(?: {6}(?:HEDDLE|OTEL)_\w+:\n)*")
_SET = re.compile(r"^ {6}(HEDDLE_\w+): \S", re.MULTILINE)


def completed(text: str) -> str:
    """Return the file's text with the complete list of each service."""
    return _SERVICE.sub(lambda match: _with_settings(match["name"], match[0]), text)


def settings_of(service: str) -> list[str]:
    """Return the settings that a service of the file reads."""
    by_package = settings_by_package()
    if service != ALL_IN_ONE:
        return by_package[PACKAGES[service]]
    names = {name for package in PACKAGES.values() for name in by_package[package]}
    names |= set(by_package["heddle_devstack"])
    return sorted(name for name in names if not _WITHIN_ONE_PROCESS.fullmatch(name))


def _with_settings(service: str, text: str) -> str:
    if service not in {*PACKAGES, ALL_IN_ONE}:
        return text
    lines = "".join(f"      {variable}:\n" for variable in _missing(service, text))
    if MARK not in text:
        return text.replace("    networks:", f"{MARK}{lines}    networks:", 1) if lines else text
    return _LISTED.sub(MARK + lines, text)


def _missing(service: str, text: str) -> Iterator[str]:
    known = {*_SET.findall(text), *_SET_ELSEWHERE}
    # A secret that is in a file is refused if it is in the environment as well.
    known |= {name.removesuffix(SUFFIX) for name in known}
    for setting in settings_of(service):
        if setting not in known and not setting.endswith("_ADDRESS"):
            yield setting
    yield from OF_TRACES


def main(file: Path = FILE) -> int:
    """Write or check the file, and return the exit code."""
    text = file.read_text()
    complete = completed(text)
    if "--check" not in sys.argv:
        file.write_text(complete)
        return 0
    if complete != text:
        print(f"{file.name} does not pass on every setting: run `python -m docs.project.compose`")  # noqa: T201 - the command's output
    return int(complete != text)


if __name__ == "__main__":
    sys.exit(main())
