"""`single_file`: what it reads. For what it must not read, see `tests/threats`, 4 to 6."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from heddle_runtime.errors import InvalidRequestError, ToolFailedError
from threats.surroundings import surrounded_files
from tools_service.serving import Client, discovering, said, serving, text_of


@pytest.fixture
async def client(tmp_path: Path) -> AsyncGenerator[Client]:
    surrounded_files(tmp_path)
    async with serving(discovering(None), folder=tmp_path) as running:
        yield running


@pytest.mark.parametrize(
    ("path", "owner", "text"),
    [
        ("guide.md", "", "the guide"),
        ("docs/notes..md", "anyone@example.org", "dotted"),
        ("docs/deep/é ü.txt", "", "deep"),
        ("docs/bom.txt", "", "with a mark"),
        ("1/notes.md", "1", "notes of 1"),
        ("ana@example.org/a.md", "Ana@Example.org", "notes of Ana"),
    ],
)
async def test_files_that_may_be_read_are(client: Client, path: str, owner: str, text: str) -> None:
    statuses, result = await client.run("single_file", {"file_path": path}, said("?", owner=owner))

    assert statuses == [f"reading file {path}"] or "@" in path  # an address is no word for a status
    assert text_of(result) == text
    assert result.slot == "file"
    [source] = result.sources
    assert (source.kind, source.title) == ("file", path)
    assert dict(source.attributes) == {"path": path, "chars": str(len(text))}
    assert result.metadata["truncated"] is False


@pytest.mark.parametrize(
    ("config", "kind", "message"),
    [
        ({}, InvalidRequestError, "No file_path configured"),
        ({"file_path": ""}, InvalidRequestError, "No file_path configured"),
        (
            {"file_path": "docs/latin.txt"},
            ToolFailedError,
            "Failed to read file: it is not UTF-8 text",
        ),
        ({"file_path": "docs/binary.txt"}, ToolFailedError, "Failed to read file: it is not text"),
    ],
)
async def test_what_cannot_be_read_says_why(
    client: Client, config: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        await client.run("single_file", config, said("?"))


@pytest.mark.parametrize(("length", "truncated"), [(99, False), (100, False), (101, True)])
async def test_a_file_is_truncated_only_if_it_goes_on(
    client: Client, tmp_path: Path, length: int, *, truncated: bool
) -> None:
    (tmp_path / "files" / "long.txt").write_text("é" * length)
    config = {"file_path": "long.txt", "max_chars": 100}

    _, result = await client.run("single_file", config, said("?"))

    assert len(text_of(result)) == min(length, 100)
    assert result.metadata["truncated"] is truncated
