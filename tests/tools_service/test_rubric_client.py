"""`rubric` with rubrics of the database, which the real service keeps, and of the folder."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from assistants.serving import SECRET, serving
from assistants.stored import keep_rubric, keep_user
from heddle.tool.v1 import tool_pb2_grpc
from heddle_assistants.database.schema import rubrics
from heddle_runtime.errors import ToolFailedError, UnavailableError
from heddle_runtime.serving.server import running
from heddle_runtime.storage.database.engine import Database, open_database
from heddle_tools_service.app import ToolsSettings, app
from new_databases import database_in
from sqlalchemy import update
from tools_service.serving import Client, said, text_of

ADA = "ada@uni.example"


@dataclass(frozen=True)
class Bench:
    """Tools, and the database behind them."""

    client: Client
    database: Database
    folder: Path

    async def title(self, rubric_id: str, owner: str = ADA, organization: str = "uni") -> str:
        """Return the title in what the tool finds for an assistant."""
        context = said("?", owner=owner, organization=organization, secret=SECRET)
        _, result = await self.client.run("rubric", {"rubric_id": rubric_id}, context)
        return text_of(result).splitlines()[0].removeprefix("# EVALUATION RUBRIC: ")

    def put(self, rubric_id: str, title: str, **columns: Any) -> None:
        """Put a rubric into the folder."""
        record = {"rubric_id": rubric_id, "rubric_data": content(title), **columns}
        (self.folder / f"{rubric_id}.yaml").write_text(yaml.safe_dump(record))


def content(title: str) -> str:
    return json.dumps({"title": title, "criteria": [{"name": "A", "levels": [{"points": 1}]}]})


@asynccontextmanager
async def tools(folder: Path, **more: Any) -> AsyncGenerator[Client]:
    settings = ToolsSettings(
        **{
            "listen": "127.0.0.1:0",
            "drain_wait": 0,
            "rubrics_dir": folder,
            "HEDDLE_IDENTITY_SECRET": SECRET,
            **more,
        }
    )
    async with running(app(settings), settings) as service:
        yield Client(tool_pb2_grpc.ToolServiceStub(service.local))


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    """Tools before the real service, on a database that Ada is known to."""
    url = database_in(tmp_path)
    folder = tmp_path / "rubrics"
    folder.mkdir()
    async with (
        serving(url) as service,
        open_database(url) as database,
        tools(folder, assistants_address=service.address) as client,
    ):
        await keep_user(database, ADA, "uni", 1)
        yield Bench(client, database, folder)


async def test_the_database_is_asked_before_the_folder(bench: Bench) -> None:
    await keep_rubric(bench.database, "both", rubric_data=content("of the database"))
    bench.put("both", "of the folder", owner=ADA)
    bench.put("folder", "of the folder", owner=ADA)
    assert await bench.title("both") == "of the database"
    assert await bench.title("folder") == "of the folder"


@pytest.mark.parametrize(
    ("columns", "readable"),
    [
        ({}, True),
        ({"owner_email": "bob@uni.example", "is_public": True}, True),
        ({"owner_email": "bob@uni.example"}, False),
        ({"owner_email": "eve@x.example", "organization": "college", "is_public": True}, False),
        ({"organization": "college"}, False),  # a namesake's
    ],
)
async def test_a_rubric_is_for_its_owner_or_public_in_the_organisation(
    bench: Bench, columns: dict[str, Any], *, readable: bool
) -> None:
    await keep_rubric(bench.database, "essay", rubric_data=content("Essay"), **columns)
    for organization in ("uni", ""):
        if readable:
            assert await bench.title("essay", organization=organization) == "Essay"
            continue
        refusals = []
        for identifier in ("essay", "missing"):
            with pytest.raises(ToolFailedError) as caught:
                await bench.title(identifier, organization=organization)
            refusals.append(caught.value.message.replace(identifier, "…"))
        assert refusals == ["Rubric … not found or not accessible"] * 2


async def test_what_one_owner_was_told_is_not_told_to_another(bench: Bench) -> None:
    await keep_rubric(bench.database, "essay", rubric_data=content("Essay"))
    assert await bench.title("essay") == "Essay"
    for owner, organization in (("bob@uni.example", "uni"), (ADA, "college"), ("", "uni")):
        with pytest.raises(ToolFailedError, match="not found or not accessible"):
            await bench.title("essay", owner, organization)


async def test_a_changed_rubric_counts_at_once(bench: Bench) -> None:
    await keep_rubric(bench.database, "essay", rubric_data=content("first"))
    assert await bench.title("essay") == "first"
    async with bench.database.writing() as connection:
        await connection.execute(update(rubrics).values(rubric_data=content("second")))
    assert await bench.title("essay") == "second"


async def test_a_database_that_cannot_be_asked_is_told_and_the_folder_does_not_stand_in(
    tmp_path: Path,
) -> None:
    async with tools(tmp_path, assistants_address="127.0.0.1:1") as client:
        bench = Bench(client, None, tmp_path)  # type: ignore[arg-type] # there is none
        bench.put("essay", "an old one", owner=ADA)
        with pytest.raises(UnavailableError) as caught:
            await bench.title("essay")
    assert (
        caught.value.message == "Failed to load rubric: the rubrics are unavailable at the moment"
    )


async def test_without_a_database_the_folder_is_all_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDDLE_ASSISTANTS_ADDRESS", "none")
    async with tools(tmp_path) as client:
        bench = Bench(client, None, tmp_path)  # type: ignore[arg-type] # there is none
        bench.put("essay", "of the folder", owner=ADA)
        assert await bench.title("essay") == "of the folder"
