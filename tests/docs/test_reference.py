"""The generated reference is complete, and the site builds without network."""

import json
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlparse

import heddle_connector.sdk
import heddle_connector.sdk.testing
import heddle_tools_service.sdk
import pytest
from docs.built_site import building
from heddle.error.v1.error_pb2 import ErrorReason
from heddle_runtime.errors.guide import anchor

from docs.reference import build, commands, contracts, errors, rest, services, settings, tools

ROOT = Path(__file__).parents[2]
SETTING = re.compile(r"\bHEDDLE_[A-Z0-9_]*[A-Z0-9]\b")
SOURCES = ("gateway/src", "tools-service/src", "migration-service/src", "services")
GENERATORS = ("mkdocs", "zensical")
CONTAINERS_ONLY = {
    *("HEDDLE_KNOWLEDGE_EXTRA", "HEDDLE_CONNECTOR_EXTRA", "HEDDLE_ORCHESTRATOR_EXTRA"),
    "HEDDLE_MEMORY_LIMIT",
    *("HEDDLE_SECRETS_DIR", "HEDDLE_OPENWEBUI_IMAGE", "HEDDLE_OLLAMA_IMAGE", "HEDDLE_SOCAT_IMAGE"),
    *("HEDDLE_PROMETHEUS_IMAGE", "HEDDLE_GRAFANA_IMAGE"),
}
"""Read by docker-compose.yml only, and explained there."""


@cache
def openapi() -> rest.Document:
    return services.openapi()


def test_every_setting_is_listed_and_described() -> None:
    listed = settings.settings()
    names = {each.variable for each in listed}
    files = [file for folder in SOURCES for file in (ROOT / folder).rglob("*.py")]
    named = {name for file in files for name in SETTING.findall(file.read_text())}
    named |= set(SETTING.findall((ROOT / "docker-compose.yml").read_text()))

    assert len(listed) > 100
    assert [each.variable for each in listed if not each.description] == []
    unlisted = {
        name
        for name in named - names - CONTAINERS_ONLY
        if not any(each.startswith(f"{name}_") for each in names)
    }
    assert unlisted == set()
    page = settings.pages()
    assert all(f"`{name}`" in page["settings.md"] for name in names)
    assert all(f"# {name}=" in page["env.example.txt"] for name in names)


def test_documents_name_settings_that_exist() -> None:
    names = {each.variable for each in settings.settings()} | CONTAINERS_ONLY
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("**/*.md")]
    written = {(page.name, name) for page in pages for name in SETTING.findall(page.read_text())}

    assert sorted(each for each in written if each[1] not in names) == []


def test_every_route_has_a_section_and_a_description() -> None:
    document = openapi()
    written = "\n".join(rest.from_document(document).values())

    assert len(document["paths"]) > 40
    assert rest.undocumented(document) == []
    for path, methods in document["paths"].items():
        for method in methods.keys() & {"get", "post", "put", "patch", "delete"}:
            assert f"## {method.upper()} {path} {{#" in written


def test_every_rpc_and_enum_value_is_described() -> None:
    files = contracts.contracts()
    written = "\n".join(contracts.pages().values())
    methods = [
        method.name for each in files for kind in each.proto.service for method in kind.method
    ]

    assert len(methods) > 60
    assert contracts.undocumented(files) == []
    assert all(f"`rpc {name}(" in written for name in methods)


def test_every_reason_of_a_failure_has_a_section_with_causes_and_remedies() -> None:
    page = errors.pages()["errors.md"]
    sections = {each.partition(" ")[0]: each for each in page.split("\n## ")}

    for name in ErrorReason.keys()[1:]:
        reason = name.removeprefix("ERROR_REASON_")
        row = re.search(
            rf"^\| \[`{reason}`\]\(#{anchor(reason)}\) \| `\w+` \| (.+) \|$", page, re.MULTILINE
        )
        assert row, name
        assert len(row[1]) > 10, name
        assert f"{{#{anchor(reason)}}}" in sections[reason]
        assert re.search(r"Usual causes:\n\n- .+\n\nWhat to do:\n\n- ", sections[reason], re.DOTALL)


def test_every_event_of_a_stream_is_described() -> None:
    page = contracts.pages()["events.md"]
    messages = [message for each in contracts.contracts() for message in each.proto.message_type]
    events = [
        message for message in messages if any(one.name == "event" for one in message.oneof_decl)
    ]

    assert len(events) >= 4
    for message in events:
        section = page.partition(f"\n## {message.name}\n")[2].partition("\n## ")[0]
        rows = dict(re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", section, re.MULTILINE))
        for each in message.field:
            assert rows.get(each.name, "").strip(), f"{message.name}.{each.name}"


def test_every_tool_its_settings_and_functions_are_described() -> None:
    listed = services.tools()
    page = tools.page(listed)["tools.md"]

    assert len(listed) > 20
    for tool in listed:
        assert f"\n## {tool.name}\n" in page
        assert tool.description, tool.name
        schemas = [
            tool.config_schema_json,
            *(each.parameters_schema_json for each in tool.functions),
        ]
        for schema in filter(None, schemas):
            for name, value in json.loads(schema).get("properties", {}).items():
                assert value.get("description"), f"{tool.name}: {name}"


def test_every_command_is_described() -> None:
    page = commands.pages()["commands.md"]
    listed = list(commands.commands())

    assert len(listed) > 20
    for words in listed:
        assert f"## {' '.join(['heddle', *words])}\n" in page
        usage, _, rest_of_help = commands.help_of(words).partition("\n")
        assert usage.strip().startswith(f"Usage: {' '.join(['heddle', *words])}"), words
        assert len(rest_of_help.strip().splitlines()[0].split()) > 2, words


class Addresses(HTMLParser):
    """Collects what a page loads or links to as a style sheet."""

    def __init__(self) -> None:
        super().__init__()
        self.foreign: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if (name == "src" or (tag == "link" and name == "href")) and urlparse(
                value or ""
            ).netloc:
                self.foreign.add(value or "")


@pytest.mark.exhaustive
@pytest.mark.timeout(300)
def test_the_site_builds_strictly_with_both_generators_and_loads_nothing_from_elsewhere() -> None:
    with building():
        for generator in GENERATORS:
            ran = subprocess.run(  # noqa: S603 - fixed arguments
                [sys.executable, "-m", "docs.reference.build", "--generator", generator],
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=False,
            )

            assert ran.returncode == 0, ran.stdout + ran.stderr
            check_site()
    for page in build.listed():
        assert (build.PAGES / page).is_file(), page


def check_site() -> None:
    pages = list(build.SITE.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        parser = Addresses()
        parser.feed(page.read_text())
        assert parser.foreign == set(), page
        if page.name != "404.html":
            assert page.with_suffix(".md").exists(), page
    index = (build.SITE / "llms.txt").read_text()
    assert all(
        page.relative_to(build.SITE).as_posix() in index for page in build.SITE.rglob("*.md")
    )
    for name, module in {
        "tools": heddle_tools_service.sdk,
        "connectors": heddle_connector.sdk,
        "connector-tests": heddle_connector.sdk.testing,
    }.items():
        content = (build.SITE / "reference" / "sdk" / f"{name}.html").read_text()
        for exported in module.__all__:
            # What the contracts define is in their reference.
            defined = getattr(getattr(module, exported), "__module__", "")
            assert exported in content or defined.endswith("_pb2"), exported
