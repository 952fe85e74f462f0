"""The store and the server that tools ask."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from heddle_knowledge.store import KnowledgeStore, open_store
from knowledge.kb_server import KnowledgeBaseServer, kb_server
from knowledge.shared_parser import shared_parser

from benchmarks.retrieval.hashing_embedder import HashingEmbedder


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[KnowledgeStore]:
    """An empty store."""
    async with open_store(tmp_path / "store", HashingEmbedder(), parser=shared_parser()) as opened:
        yield opened


@pytest.fixture
async def server() -> AsyncGenerator[KnowledgeBaseServer]:
    """A server that answers as it is told."""
    async with kb_server() as running:
        yield running
