"""What the command prints as JSON: one document, with the names of REST."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from cli import keeping
from cli.conftest import Run
from cli.serving import Services
from heddle_cli.app import app
from heddle_gateway.app.operations import document

LISTS = ("list", "search", "models", "usage", "health", "doctor")
GROUPS = ("keys",)


def commands(command: Any, *words: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the words of each command that prints results, and the command."""
    inner = getattr(command, "commands", None)
    if inner is None:
        if words[-1] in LISTS or words[0] in GROUPS:
            yield words, command
        return
    for name, each in inner.items():
        yield from commands(each, *words, name)


def test_each_command_that_lists_or_shows_can_print_json() -> None:
    printing = dict(commands(typer.main.get_command(app)))

    assert len(printing) >= 13
    for words, command in printing.items():
        assert "--json" in {name for each in command.params for name in each.opts}, words


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ("collections", "list"),
            {
                "id": "",
                "name": "kb",
                "title": "",
                "backend": "embedded",
                "document_count": 0,
                "organization": "",
                "owner": "",
                "language": "",
                "embedding_model": "",
            },
        ),
        (
            ("assistants", "list"),
            {
                "id": "bio",
                "name": "biology",
                "title": "Biology 101",
                "description": "",
                "icon": "",
                "starter_questions": [],
                "capabilities": {"vision": False, "image_generation": False},
                "created": 0,
                "owner": "",
                "organization": "",
                "published": False,
                "format_version": 0,
            },
        ),
        (("models",), {"connector": "openai", "model": "m1", "title": "Model one"}),
        (
            ("tools", "list"),
            {
                "name": "simple_rag",
                "category": "rag",
                "origin": "builtin",
                "isolation": "service",
                "description": "Finds.",
            },
        ),
        (
            ("search", "Why", "--collection", "kb", "--top-k", "1"),
            {
                "file_id": "",
                "filename": "guide.pdf",
                "score": 0.8125,
                "attributes": {},
                "content": [{"type": "text", "text": "Why?\nYes.\x1b[31m"}],
                "explanation": {
                    "passage_id": "",
                    "document_id": "",
                    "page": 3,
                    "headings": ["Weaving", "Heddles"],
                },
            },
        ),
    ],
)
def test_results_are_one_document(
    services: Services, heddle: Run, arguments: tuple[str, ...], expected: dict[str, Any]
) -> None:
    services.knowledge.collections = {"kb": {}}

    code, out, _ = heddle(*arguments, "--json")

    assert code == 0
    assert "\x1b" not in out
    [items] = [each for each in json.loads(out).values() if isinstance(each[0], dict)]
    assert items[0] == expected


@pytest.mark.usefixtures("services")
def test_health_says_which_component_is_ready(heddle: Run) -> None:
    code, out, _ = heddle("health", "--json")

    assert code == 0
    first = json.loads(out)["components"][0]
    ready = {"service": "orchestrator", "name": "", "ready": True, "summary": "", "problem": ""}
    assert first == ready


@pytest.fixture
def accounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The real service of assistants, and an environment that leads to it."""
    monkeypatch.delenv("HEDDLE_IDENTITY_SECRET", raising=False)
    store = keeping.AssistantDatabase(tmp_path)
    store.add([{"id": 1, "name": "a", "metadata": keeping.SIMPLE}])
    with store.served() as address:
        monkeypatch.setenv("HEDDLE_ASSISTANTS_ADDRESS", address)
        yield


@pytest.mark.usefixtures("accounts")
def test_documents_have_the_members_of_rest(heddle: Run) -> None:
    schemas = document(())["components"]["schemas"]

    def printed(*arguments: str) -> dict[str, Any]:
        code, out, notes = heddle(*arguments, "--json")
        assert code == 0, notes
        members: dict[str, Any] = json.loads(out)
        return members

    key = printed("keys", "create", "--name", "laptop", "--organization", "uni")
    assert key.keys() == schemas["NewKey"]["properties"].keys()
    assert key["key"].startswith("hk_")
    assert printed("keys", "revoke", key["id"]).keys() == schemas["Key"]["properties"].keys()
    for arguments, schema in (
        (("keys", "list"), "Key"),
        (("organizations", "list"), "OrganizationSummary"),
        (("audit", "list"), "AuditEvent"),
    ):
        [items] = printed(*arguments).values()
        assert items, arguments
        assert items[0].keys() == schemas[schema]["properties"].keys(), arguments
    assert printed("usage") == {"assistants": []}


@pytest.mark.usefixtures("accounts")
def test_nothing_is_an_empty_list_without_a_note(heddle: Run) -> None:
    code, out, notes = heddle("keys", "list", "--json")

    assert (code, json.loads(out), notes) == (0, {"keys": []}, "")
