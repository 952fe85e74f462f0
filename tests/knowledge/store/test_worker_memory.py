"""The memory of each worker process has a limit."""

import re
from pathlib import Path

from heddle_knowledge.embedders.local_embedders import LocalEmbedder
from heddle_knowledge.reading.parsing import Parser


def address_limit(pid: int | None) -> int:
    """Return how many bytes of addresses a process may have."""
    limits = Path(f"/proc/{pid}/limits").read_text()
    match = re.search(r"Max address space +(\d+)", limits)
    assert match, limits
    return int(match[1])


async def test_the_process_that_embeds_passages_has_a_limit() -> None:
    async with LocalEmbedder() as embedder:
        await embedder.embed(["warp"], "passage")
        assert address_limit(embedder.worker.pid) == 4 * 1024**3


async def test_a_process_that_reads_documents_has_a_limit() -> None:
    parser = Parser(processes=1)
    try:
        await parser.parse(b"warp", media_type="", name="a.txt")
        [worker] = parser._workers  # noqa: SLF001 - its process
        assert address_limit(worker.pid) == 1024**3
    finally:
        await parser.aclose()
