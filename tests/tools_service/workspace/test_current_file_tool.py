"""`current_file`: what an editor's request tells of the open file, in the prompt."""

import json
from pathlib import Path
from typing import Any

import pytest
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import HeddleError
from heddle_runtime.identity.callers import Identity
from runtime.accounts import SECRET
from tools_service.serving import Client, granted, invocation, outcome, said, text_of
from tools_service.workspace.asking import ANA, BOB, asked_by


async def shown(
    client: Client,
    metadata: object,
    config: dict[str, Any] | None = None,
    identity: Identity = ANA,
) -> "pb.ToolResult | HeddleError":
    """Return what becomes of a request with these metadata."""
    context = said("Add type hints to this function", owner="eve@example.org")
    context.options.extra_json = json.dumps({"metadata": metadata})
    with asked_by(identity):
        asking = granted(context, SECRET)
        events = await client.run_all([invocation("1", "current_file", config)], asking)
    return outcome(events, "1")


async def text(client: Client, metadata: object, config: dict[str, Any] | None = None) -> str:
    found = await shown(client, metadata, config)
    assert isinstance(found, pb.ToolResult), found
    assert found.slot == "current_file"
    return text_of(found)


@pytest.mark.usefixtures("home")
async def test_the_open_file_is_shown_with_its_lines(client: Client) -> None:
    found = await shown(client, {"current_file": "seven.py"})

    assert isinstance(found, pb.ToolResult)
    head, *lines = text_of(found).splitlines()
    assert head.startswith("seven.py, lines 1-7 of 7, sha256 ")
    assert lines[:2] == ["    1| def func1():", "    2|     pass"]
    assert len(lines) == 7
    assert [source.title for source in found.sources] == ["seven.py"]


async def test_of_a_long_file_is_shown_what_the_person_looks_at(client: Client, home: Path) -> None:
    (home / "long.py").write_text("".join(f"line_{n}\n" for n in range(1, 1001)))

    seen = await text(
        client, {"current_file": "long.py", "current_lines": "500-502"}, {"lines": 20}
    )
    head, first, *_, rest, looks = seen.splitlines()
    assert head.startswith("long.py, lines 495-514 of 1000, ")
    assert first == "  495| line_495"
    assert rest == "(the file has 486 lines more)"
    assert looks == "The person looks at lines 500-502."

    begin = await text(client, {"current_file": "long.py"}, {"lines": 20})
    assert begin.splitlines()[0].startswith("long.py, lines 1-20 of 1000, ")
    assert begin.endswith("\n(the file has 980 lines more)")


@pytest.mark.usefixtures("home")
async def test_a_file_can_be_named_alone(client: Client) -> None:
    metadata = {"current_file": "seven.py", "current_lines": "5"}
    named = await text(client, metadata, {"lines": 0})
    assert named == "seven.py, 7 lines\nThe person looks at line 5."


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    "metadata", [None, {}, [], "seven.py", {"current_lines": "5"}, {"current_file": ""}]
)
async def test_without_an_open_file_nothing_is_put_in(client: Client, metadata: object) -> None:
    assert await text(client, metadata) == ""


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("metadata", "kind"),
    [
        ({"current_file": {"path": "seven.py"}}, "invalid_arguments"),
        ({"current_file": 7}, "invalid_arguments"),
        ({"current_file": "seven.py", "current_lines": "0"}, "invalid_arguments"),
        ({"current_file": "seven.py", "current_lines": "5-4"}, "invalid_arguments"),
        ({"current_file": "seven.py", "current_lines": 5}, "invalid_arguments"),
        ({"current_file": "seven.py", "current_lines": "900"}, "invalid_range"),
        ({"current_file": "/etc/passwd"}, "path_denied"),
        ({"current_file": "../bob@example.org/x"}, "path_denied"),
        ({"current_file": ".git/config"}, "path_denied"),
        ({"current_file": "gone.py"}, "not_found"),
    ],
)
async def test_what_cannot_be_shown_is_refused(client: Client, metadata: Any, kind: str) -> None:
    found = await shown(client, metadata)
    assert isinstance(found, HeddleError)
    assert found.metadata["kind"] == kind


async def test_the_file_is_one_of_the_person_who_asks(client: Client, home: Path) -> None:
    (home / "project").mkdir()
    for config, identity, kind in (
        ({}, BOB, "not_found"),
        ({"folder": "project"}, ANA, "path_denied"),
        ({"shared": True}, ANA, "not_found"),
    ):
        found = await shown(client, {"current_file": "seven.py"}, config, identity)
        assert isinstance(found, HeddleError), config
        assert found.metadata["kind"] == kind
