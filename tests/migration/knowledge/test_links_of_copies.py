"""Passages of copied files in the form of LAMB's knowledge-base server."""

import pytest
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_migration_service.knowledge.file_copy import address
from heddle_migration_service.knowledge.reading import LambFile
from heddle_migration_service.knowledge_server.results import result
from heddle_migration_service.lamb.knowledge_registry import LambServer

SERVER = LambServer("http://kb.example:9090", "token")


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("/static/3/dyes/a.md", "http://kb.example:9090/static/3/dyes/a.md"),
        (
            "https://kb.uni.example/static/a b(1).md",
            "https://kb.uni.example/static/a%20b%281%29.md",
        ),
        ("https://kb.uni.example/static/a%20b.md", "https://kb.uni.example/static/a%20b.md"),
        ("https://ann:secret@kb.uni.example/a.md", ""),
        ("javascript:alert(1)", ""),
        ("https://kb.uni.example/" + "a" * 3_000, ""),
        (None, ""),
    ],
)
def test_a_copy_links_what_lamb_links(link: str | None, expected: str) -> None:
    assert address(SERVER, LambFile(id="1", file_url=link)) == expected


def test_lamb_gets_the_name_and_the_content_at_this_server_of_a_copied_file() -> None:
    passage = pb.Passage(
        title="Dye",
        document="dye.md",
        uri="http://old.example/static/dye.md",
        similarity=0.25,
        metadata={"lamb_file": "1", "file_id": "file-1", "filename": "dye.md"},
    )

    shown = result(passage, "17", sections=False, whole=False)

    assert shown.similarity == 0.25
    assert shown.metadata["filename"] == "dye.md"
    assert shown.metadata["file_url"] == "/collections/17/files/file-1/content"
    assert "source_url" not in shown.metadata
