"""A LAMB whose collections are at a knowledge-base server."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from migration.knowledge.importing import registered, shelved
from migration.knowledge.lamb_kb_server import LambKbServer, lamb_kb_server
from migration.lamb.lamb_database import Lamb, filled


@pytest.fixture
async def kb() -> AsyncIterator[LambKbServer]:
    async with lamb_kb_server() as server:
        yield shelved(server)


@pytest.fixture
def lamb(tmp_path: Path) -> Lamb:
    return registered(filled(tmp_path / "lamb_v4.db"))
