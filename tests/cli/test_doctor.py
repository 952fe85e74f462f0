"""The checks of `heddle doctor`: each fault is named with its remedy."""

import os
import socket
import sqlite3
from pathlib import Path

import pytest
from cli.findings import results
from heddle.connector.v1 import connector_pb2
from heddle.health.v1.health_pb2 import Component
from heddle_assistants.app import AssistantsSettings
from heddle_cli.doctor import local
from heddle_cli.doctor.services import (
    model_findings,
    port_findings,
    service_findings,
    version_findings,
)
from heddle_cli.service_reports import Report
from heddle_connector.app import ConnectorSettings
from heddle_knowledge.settings import KnowledgeSettings
from heddle_tools_service.settings import ToolsSettings
from runtime.ports import free_port

SECRET = "a-secret-of-at-least-32-characters"


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each check in an empty folder, without settings."""
    for name in [each for each in os.environ if each.startswith("HEDDLE_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


FULL = Component(name="disk", problem="The disk has 3 KiB left. Free space on it.")
SKIPPED = Component(name="plugins", ready=True, problem="odd.py: no tool")
READY = Component(name="store", ready=True)


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        ([Report("tools", components=[READY])], [("ok", "services")]),
        ([Report("tools", "there:1", "Nothing answers.", answers=False)], [("wrong", "services")]),
        (
            [Report("tools"), Report("connector", problem="The call carries no valid token. Set")],
            [("wrong", "service connector"), ("ok", "services")],
        ),
        ([Report("knowledge", components=[FULL])], [("wrong", "service knowledge, disk")]),
        (
            [Report("tools", components=[SKIPPED])],
            [("warning", "service tools, plugins"), ("ok", "services")],
        ),
        ([Report("tools", components=[Component(name="x")])], [("wrong", "service tools, x")]),
    ],
)
def test_services_that_do_not_work_are_named(
    reports: list[Report], expected: list[tuple[str, str]]
) -> None:
    assert results(service_findings(reports)) == expected


def test_the_text_of_a_component_ends_with_its_remedy() -> None:
    [finding] = service_findings([Report("knowledge", components=[FULL])])

    assert finding.finding == "The disk has 3 KiB left."
    assert finding.remedy == "Free space on it."


@pytest.mark.parametrize(
    ("others", "result"),
    [({"tools": "1.0"}, "ok"), ({"tools": "0.9"}, "wrong")],
)
def test_versions_that_disagree_are_listed(others: dict[str, str], result: str) -> None:
    reports = [Report(name, version=version) for name, version in others.items()]
    [finding] = version_findings("1.0", [*reports, Report("old")])

    assert finding.result == result
    assert ("0.9: tools" in finding.finding) == (result == "wrong")


ENVIRONMENT = connector_pb2.Connector(
    name="openai", settings_source=connector_pb2.SETTINGS_SOURCE_ENVIRONMENT
)
ABSENT = connector_pb2.Connector(name="openai")
OLLAMA = connector_pb2.Connector(name="ollama")


@pytest.mark.parametrize(
    ("connector", "default", "problem", "expected"),
    [
        (ENVIRONMENT, "openai/gpt-x", "", [("ok", "models")]),
        (ENVIRONMENT, "", "", [("warning", "models")]),
        (ABSENT, "", "Nothing is set.", [("warning", "models")]),
        (ENVIRONMENT, "", "It refuses.", [("wrong", "provider openai"), ("warning", "models")]),
        (OLLAMA, "a/b", "Unreachable.", [("ok", "models")]),
    ],
)
def test_providers_that_do_not_answer_are_named(
    connector: connector_pb2.Connector,
    default: str,
    problem: str,
    expected: list[tuple[str, str]],
) -> None:
    problems = [connector_pb2.ConnectorProblem(connector=connector.name, message=problem)]
    listed = connector_pb2.ListModelsResponse(
        default_model=default, problems=problems if problem else []
    )
    assert results(model_findings([connector], listed)) == expected


def test_a_port_that_another_program_uses_is_named_with_its_settings() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = f"127.0.0.1:{other.getsockname()[1]}"
        free = f"127.0.0.1:{free_port()}"
        findings = list(
            port_findings(
                [
                    Report("tools", taken, "It does not answer.", answers=False),
                    Report("connector", free, "Nothing answers.", answers=False),
                    Report("knowledge", "127.0.0.1:1", components=[READY]),
                    Report("assistants", "elsewhere.example:9104", "No.", answers=False),
                ]
            )
        )

    assert [each.result for each in findings] == ["wrong", "ok", "ok"]
    assert taken in findings[0].finding
    assert "HEDDLE_TOOLS_LISTEN" in findings[0].remedy
    assert free in findings[2].finding


def test_the_settings_of_folders_and_the_database_are_those_of_the_services() -> None:
    defaults = {
        "HEDDLE_KNOWLEDGE_DATA_DIR": KnowledgeSettings.model_fields["data_dir"],
        "HEDDLE_CONNECTOR_IMAGES_DIR": ConnectorSettings.model_fields["images_dir"],
        "HEDDLE_TOOLS_WORKSPACE_DIR": ToolsSettings.model_fields["workspace_dir"],
    }
    assert {name: str(each.default) for name, each in defaults.items()} == local.FOLDERS
    assert AssistantsSettings.model_fields["database"].default == local.DEFAULT_DATABASE


def test_folders_that_are_no_folders_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert results(local.disk_findings()) == [("ok", "disk")]

    monkeypatch.setenv("HEDDLE_KNOWLEDGE_DATA_DIR", "/proc/heddle")
    wrong, ok = local.disk_findings()
    assert (wrong.result, ok.result) == ("wrong", "ok")
    assert "/proc" in wrong.finding


def test_a_disk_that_is_almost_full_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_GIB", 1024**6)
    assert results(local.disk_findings()) == [("warning", "disk")]


@pytest.mark.parametrize(
    ("url", "result", "text"),
    [
        ("", "ok", "created at the first start"),
        (f"postgresql://heddle@127.0.0.1:{free_port()}/heddle", "wrong", ""),
        ("mysql://heddle", "wrong", ""),
    ],
)
def test_a_database_that_cannot_be_reached_is_reported(
    monkeypatch: pytest.MonkeyPatch, url: str, result: str, text: str
) -> None:
    monkeypatch.setenv(local.DATABASE, url)
    [finding] = local.database_findings()

    assert finding.result == result
    assert text in finding.finding


def test_tables_of_another_version_are_reported(tmp_path: Path) -> None:
    (tmp_path / ".heddle").mkdir()
    with sqlite3.connect(tmp_path / ".heddle" / "heddle.db") as database:
        database.execute("CREATE TABLE alembic_version (version_num TEXT)")
        database.execute("INSERT INTO alembic_version VALUES ('9999')")
    database.close()

    [finding] = local.database_findings()

    assert finding.result == "wrong"
    assert "version 9999" in finding.finding


def test_files_of_secrets_that_others_may_read_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert results(local.secret_findings()) == [("warning", "secret of the services")]
    file = tmp_path / "secret"
    file.write_text(SECRET)
    file.chmod(0o644)
    monkeypatch.setenv("HEDDLE_IDENTITY_SECRET_FILE", str(file))

    ok, wrong = local.secret_findings()
    assert (ok.result, wrong.result) == ("ok", "wrong")
    assert wrong.remedy == f"Run: chmod 600 {file}"

    file.chmod(0o600)
    assert {each.result for each in local.secret_findings()} == {"ok"}
    file.unlink()
    assert {each.result for each in local.secret_findings()} == {"wrong"}


def test_a_short_secret_is_reported_without_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDDLE_IDENTITY_SECRET", "too-short")
    [finding] = local.secret_findings()

    assert finding.result == "wrong"
    assert "too-short" not in f"{finding.finding} {finding.remedy}"
