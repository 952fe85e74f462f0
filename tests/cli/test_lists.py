"""The commands that look things up: what they print, on which stream, with which exit code."""

import io
from pathlib import Path

import pytest
from cli.conftest import Run
from cli.serving import Services
from heddle_runtime.serving.optional import optional_services
from runtime.ports import free_port


def test_collections_are_listed_over_all_pages(services: Services, heddle: Run) -> None:
    services.knowledge.collections = {"a": {}, "long-name": {"x": ""}, "z": {"x": "", "y": ""}}
    services.knowledge.titles = {"a": "The first"}

    code, out, _ = heddle("collections", "list")

    assert code == 0
    assert out.splitlines() == [
        "a          embedded  0 documents  The first",
        "long-name  embedded  1 document",
        "z          embedded  2 documents",
    ]


def test_a_collection_is_deleted_when_that_is_confirmed(services: Services, heddle: Run) -> None:
    services.knowledge.collections = {"kb": {}}

    assert heddle("collections", "delete", "kb", "--yes")[:2] == (0, "kb: deleted\n")
    assert services.knowledge.collections == {}


@pytest.mark.parametrize("answer", ["n\n", ""])
def test_a_collection_is_kept_when_nobody_confirms(
    services: Services, heddle: Run, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    services.knowledge.collections = {"kb": {}}
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))

    assert heddle("collections", "delete", "kb")[0] == 1
    assert services.knowledge.collections == {"kb": {}}


@pytest.mark.usefixtures("services")
def test_deleting_a_name_that_is_mistyped_is_a_failure(heddle: Run) -> None:
    assert heddle("collections", "delete", "kb", "--yes") == (
        1,
        "",
        "heddle: No collection is named 'kb'.\n",
    )


@pytest.mark.usefixtures("services")
def test_a_search_shows_where_passages_are_and_obeys_no_escape_sequence(heddle: Run) -> None:
    code, out, _ = heddle("search", "Why", "--collection", "kb", "--top-k", "1")

    assert code == 0
    assert out == ("1. guide.pdf > Weaving > Heddles > page 3  0.812\n   Why?\n   Yes.[31m\n\n")


@pytest.mark.usefixtures("services")
def test_tools_are_listed_and_broken_plugins_named(heddle: Run) -> None:
    assert heddle("tools", "list") == (
        0,
        "simple_rag  rag  builtin  service  Finds.\n",
        "skipped folder:odd.py: line 1: no tool\n",
    )


@pytest.mark.usefixtures("services")
def test_models_are_listed_and_silent_providers_named(heddle: Run) -> None:
    assert heddle("models") == (0, "openai  m1  Model one\n", "ollama: is down\n")


@pytest.mark.usefixtures("services")
def test_assistants_are_listed(heddle: Run) -> None:
    assert heddle("assistants", "list") == (0, "bio  biology  Biology 101\n", "")


@pytest.mark.usefixtures("services")
@pytest.mark.parametrize(
    ("config", "code", "out"),
    [
        ('{"top_k": 3}', 0, '{\n  "threshold": 0.5,\n  "top_k": 3\n}\n'),
        ('{"top_k": 0}', 1, "config.top_k  must be 1 or more\n"),
    ],
)
def test_a_configuration_is_completed_or_its_violations_are_listed(
    heddle: Run, tmp_path: Path, config: str, code: int, out: str
) -> None:
    file = tmp_path / "config.json"
    file.write_text(config)

    assert heddle("tools", "validate", "simple_rag", str(file)) == (code, out, "")


@pytest.mark.usefixtures("services")
@pytest.mark.parametrize(
    "config", ["[]", "{", '{"seed": 9007199254740993}', '{"a": ' + "[" * 9000 + "]" * 9000 + "}"]
)
def test_a_file_that_is_no_configuration_is_told_in_one_sentence(
    heddle: Run, tmp_path: Path, config: str
) -> None:
    file = tmp_path / "config.json"
    file.write_text(config)

    code, out, notes = heddle("tools", "validate", "simple_rag", str(file))

    assert (code, out) == (1, "")
    assert notes.startswith(f"heddle: {file} is not a configuration: ")
    assert len(notes.splitlines()) == 1


@pytest.mark.usefixtures("services")
def test_health_lists_the_services_and_fails_if_one_does_not_answer(
    heddle: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = heddle("health")
    assert (code, len(out.splitlines())) == (0, 5 + len(optional_services()))
    assert out.splitlines()[0].split() == ["orchestrator", "ready"]

    monkeypatch.setenv("HEDDLE_TOOLS_ADDRESS", f"127.0.0.1:{free_port()}")
    code, out, _ = heddle("health")
    assert code == 1
    assert "Nothing answers at" in out.splitlines()[1]


def test_health_asks_each_replica_and_fails_if_one_does_not_answer(
    services: Services, heddle: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering, silent = services.address, f"127.0.0.1:{free_port()}"
    monkeypatch.setenv("HEDDLE_TOOLS_ADDRESS", f"{answering},{silent}")
    monkeypatch.setenv("HEDDLE_KNOWLEDGE_ADDRESS", "no address")

    code, out, _ = heddle("health")

    assert code == 1
    rows = [line for line in out.splitlines() if line.startswith(("tools", "knowledge"))]
    assert rows[0].split() == ["tools", answering, "ready"]
    assert rows[1].startswith(f"tools {silent}")
    assert f"Nothing answers at {silent}" in rows[1]
    assert "'no address' is no address: write HOST:PORT" in rows[2]
