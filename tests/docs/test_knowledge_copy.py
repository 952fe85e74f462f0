"""The page about copies of knowledge: its commands run, and the service is started on the copy."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from assistants.postgres import postgres
from docs.blocks import Block, blocks
from docs.test_pages import COPYING, ROOT, SECRET, run_blocks
from integration.whole import whole

_SHOWN = {
    ".heddle/knowledge": "knowledge",
    ".heddle/restored": "restored",
}
_DATABASE = "postgresql://heddle@localhost/heddle"


def _actual(block: Block, database: str) -> Block:
    """Return a block with the places of this test."""
    text = block.text.replace(_DATABASE, f"'{database}'")
    for shown, place in _SHOWN.items():
        text = text.replace(shown, place)
    return replace(block, text=text)


@pytest.mark.timeout(300)  # two whole Heddles and three copies, on a busy machine
async def test_the_page_leads_from_a_folder_to_a_database_and_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDDLE_IDENTITY_SECRET", SECRET)
    shutil.copy(ROOT / "README.md", tmp_path)
    with postgres(wheel="pgserver") as server, server.database() as database:
        listed = [_actual(block, database) for block in blocks(COPYING)]
        last = next(at for at, block in enumerate(listed) if "heddle search" in block.text)
        assert last > 2
        async with whole(tmp_path) as running:
            await run_blocks(running, tmp_path, listed[:last], [])
        monkeypatch.setenv("HEDDLE_KNOWLEDGE_STORE_URL", database)
        (tmp_path / ".exports").unlink()
        async with whole(tmp_path) as running:
            await run_blocks(running, tmp_path, listed[last:], [])
