"""`AssistantService.ListUsedFiles`: which uploaded files assistants use."""

import json
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from assistants.serving import ADA, ADMIN, SERVICE, Service, serving
from assistants.stored import LEGACY, keep
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_runtime.errors import PermissionDeniedError
from heddle_runtime.identity.callers import Identity
from heddle_runtime.storage.database.engine import Database

FILES = [f"file-{sign * 32}" for sign in "0123"]


async def used(service: Service, ids: Sequence[str], identity: Identity = SERVICE) -> Sequence[str]:
    caller = service.as_(identity)
    request = pb.ListUsedFilesRequest(ids=ids)
    return (await caller.ask(caller.assistants.ListUsedFiles, request)).ids


async def test_files_of_assistants_count_also_of_deleted_ones_and_of_those_in_a_folder(
    database_url: str, database: Database, tmp_path: Path
) -> None:
    tool = {"rag_processor": "single_file_rag", "file_path": FILES[3]}
    await keep(database, metadata=json.dumps(LEGACY | tool))
    gone = json.dumps(LEGACY | {"x": FILES[1]})
    await keep(database, name="gone", deleted_at=int(time.time()), metadata=gone)
    tools = [{"type": "single_file", "name": "notes", "config": {"file_path": FILES[0]}}]
    content = {"id": "9", "name": "from_file", "tools": tools}
    (tmp_path / "9.json").write_text(json.dumps(content))
    async with serving(database_url, folder=tmp_path) as service:
        assert await used(service, FILES) == [FILES[0], FILES[1], FILES[3]]
        assert await used(service, [FILES[2], "x", ""]) == []


@pytest.mark.parametrize("identity", [ADA, ADMIN])
async def test_only_services_ask_for_used_files(service: Service, identity: Identity) -> None:
    with pytest.raises(PermissionDeniedError):
        await used(service, FILES, identity)
