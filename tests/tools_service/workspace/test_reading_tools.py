"""The tools that read, list and search the workspace, as a model and as a slot use them."""

import json
import re
from pathlib import Path

import pytest
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import InvalidRequestError, ToolFailedError
from heddle_runtime.identity.call_metadata import new_call_options
from tools_service.serving import Client, invocation, text_of
from tools_service.workspace.asking import ANA, CHANGE, asked_by, done


async def test_what_makes_no_sense_before_the_model_is_refused_there(client: Client) -> None:
    with asked_by(ANA):
        for tool in ("patch_file", "restore_file", "search_files"):
            with pytest.raises(InvalidRequestError, match="cannot be bound in the mode 'augment'"):
                await client.run(tool, {})


@pytest.mark.usefixtures("home")
async def test_a_file_and_a_list_can_fill_a_slot(client: Client) -> None:
    with asked_by(ANA):
        _, read = await client.run("read_file", {"file_path": "seven.py"})
        _, listed = await client.run("list_files", {})
        with pytest.raises(ToolFailedError, match="No file_path configured"):
            await client.run("read_file", {})

    assert "    7| # comment" in text_of(read)
    assert (read.slot, listed.slot) == ("file", "files")
    assert [source.title for source in read.sources] == ["seven.py"]
    assert text_of(listed) == "seven.py  56 bytes"


async def test_a_long_file_is_read_in_pieces(client: Client, home: Path) -> None:
    (home / "long.txt").write_bytes(b"".join(b"line %d\r\n" % n for n in range(9_000)) + b"end")

    first = await done(client, "read_file", {"file_path": "long.txt"})

    assert ", lines end with CRLF, no line end after the last line\n" in first
    rest = re.search(r"\(cut here; read on with line_start (\d+)\)$", first)
    assert rest
    assert len(first) < 52_000
    then = await done(
        client,
        "read_file",
        {"file_path": "long.txt", "line_start": int(rest[1]), "line_end": int(rest[1])},
    )
    assert f"| line {int(rest[1]) - 1}" in then


async def test_cut_searches_and_lists_say_so(client: Client, home: Path) -> None:
    for number in range(5):
        (home / f"{number}.txt").write_text("same\n")

    found = await done(client, "search_files", {"query": "same", "max_results": 2})
    listed = await done(client, "list_files", {"max_results": 2})

    assert found.endswith("; there may be more: only the first 2 are shown)")
    assert listed.endswith("\n(there may be more: only the first 2 are shown)")


async def test_models_are_told_of_all_five(client: Client) -> None:
    names = ["patch_file", "read_file", "list_files", "search_files", "restore_file"]
    request = pb.ListFunctionsRequest(invocations=[invocation(name, name) for name in names])
    with asked_by(ANA):
        response = await client.stub.ListFunctions(request, **new_call_options(5))

    assert [offer.functions[0].name for offer in response.functions] == names
    patch = json.loads(response.functions[0].functions[0].parameters_schema_json)
    assert set(patch["$defs"]["Change"]["properties"]) == set(CHANGE)
    assert patch["required"] == ["file_path", "changes"]
