"""`RunMigration` with `knowledge`: libraries of LAMB's library server, as collections."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from aiohttp import web
from heddle.assistant.v1.jobs_pb2 import JOB_KIND_ROLLBACK
from heddle.knowledge.v1 import files_pb2, knowledge_pb2
from heddle.migration.v1 import migration_pb2 as pb
from heddle.migration.v1 import migration_pb2_grpc
from heddle_runtime.contract.struct_codec import from_struct
from heddle_runtime.identity.call_metadata import Caller, calling_as, new_call_options
from migration.knowledge.importing import BO, CY, ROOT, Import, importing
from migration.lamb.lamb_database import LIBRARIES, Lamb, filled
from web_server import web_server

TOKEN = "the-key-of-lambs-library-server"
LENSES, PRISM = b"# Lenses\n\nA lens bends light.", b"A prism splits light."
SHELF = "b3c1-shelf"
FOLDERS = [
    {"id": "f1", "name": "Week 1", "parent_folder_id": None},
    {"id": "f2", "name": "Slides", "parent_folder_id": "f1"},
]
ITEMS: list[dict[str, Any]] = [
    {"id": "i1", "original_filename": "light.md", "file_size": len(LENSES), "folder_id": "f2"},
    {"id": "i2", "original_filename": "light.md", "file_size": len(PRISM), "folder_id": None},
    {"id": "i3", "source_url": "https://light.example/speed", "title": "Speed"},
    {"id": "i4", "original_filename": "broken.pdf", "status": "failed"},
    {"id": "i5", "original_filename": "late.md", "status": "processing"},
]
CONTENTS = {"i1/original/light.md": LENSES, "i2/original/light.md": PRISM}


@asynccontextmanager
async def library_server(*, has_folders: bool = True) -> AsyncIterator[str]:
    """Serve a library, as both of LAMB's versions of June 2026 do."""
    routes = web.RouteTableDef()

    @routes.get("/libraries/{library}/items")
    async def items(request: web.Request) -> web.Response:
        first, size = int(request.query["offset"]), int(request.query["limit"])
        usual = {"title": "", "source_type": "file", "import_plugin": "simple_import"}
        page = [{**usual, "status": "ready", **it} for it in ITEMS[first : first + min(size, 2)]]
        return web.json_response({"items": page, "total": len(ITEMS)})

    @routes.get("/libraries/{library}/tree")
    async def tree(_: web.Request) -> web.Response:
        if not has_folders:
            return web.json_response({"detail": "Not Found"}, status=404)
        return web.json_response({"library_id": SHELF, "folders": FOLDERS, "items": []})

    @routes.get("/libraries/{library}/items/{item}/content")
    async def content(_: web.Request) -> web.Response:
        return web.Response(text="Light is fast.", content_type="text/markdown")

    @routes.get("/libraries/{library}/items/{path:.*}")
    async def original(request: web.Request) -> web.Response:
        body = CONTENTS.get(request.match_info["path"])
        return web.Response(body=body) if body else web.json_response({}, status=404)

    @web.middleware
    async def guarded(request: web.Request, handler: Any) -> web.StreamResponse:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return web.json_response({}, status=401)
        answer: web.StreamResponse = await handler(request)
        return answer

    application = web.Application(middlewares=[guarded])
    application.add_routes(routes)
    async with web_server(application) as url:
        yield url


def with_libraries(path: Path) -> Lamb:
    """Make a LAMB with a shared library of Bo, and one without an owner."""
    lamb = filled(path)
    with lamb.open() as connection:
        connection.execute(f"CREATE TABLE LAMB_libraries {LIBRARIES}")
        connection.commit()
    of_physics = {"organization_id": 7, "owner_user_id": 3, "is_shared": 1}
    return lamb.add(
        "libraries",
        {"id": SHELF, "name": "Light", "description": "All of it.", **of_physics},
        {"id": "lost", "name": "Lost", "owner_user_id": 99},
    )


@pytest.fixture
async def heddle(tmp_path: Path) -> AsyncIterator[Import]:
    lamb = with_libraries(tmp_path / "lamb_v4.db")
    async with (
        library_server() as url,
        importing(tmp_path, lamb, "", lamb_library_url=url, lamb_library_token=TOKEN) as services,
    ):
        yield services


async def shelf(heddle: Import, person: Any = BO) -> knowledge_pb2.Collection:
    request = knowledge_pb2.GetCollectionRequest(name=SHELF)
    collection: knowledge_pb2.Collection = (
        await heddle.ask(person, "GetCollection", request)
    ).collection
    return collection


async def attached(heddle: Import) -> dict[str, files_pb2.AttachedFile]:
    request = files_pb2.ListAttachedFilesRequest(collection=(await shelf(heddle)).id)
    files = (await heddle.ask(BO, "ListAttachedFiles", request)).files
    return {str(from_struct(it.attributes)["lamb_file"]): it for it in files}


async def test_libraries_are_collections_with_names_and_folders(heddle: Import) -> None:
    dry = await heddle.run(dry_run=True)
    assert dry.counts["libraries"] == (2, 1, 0, 1)
    report = await heddle.run()
    assert report.counts["libraries"] == (2, 1, 0, 1)
    assert report.counts["library_items"] == (4, 3, 0, 1)
    assert "no user" in report.findings["libraries"]["lost"].error.message
    assert "Import again" in report.findings["library_items"][f"{SHELF}/i5"].error.message
    assert report.left_behind["library_items"][0] == 1
    assert "libraries" not in report.left_behind
    light = await shelf(heddle)
    assert (light.title, light.owner, light.organization) == ("Light", BO.subject, "physics")
    assert light.sharing == knowledge_pb2.SHARING_ORGANIZATION
    assert light.changeable
    assert (await shelf(heddle, CY)).id == light.id
    files = await attached(heddle)
    about = {key: from_struct(it.attributes) for key, it in files.items()}
    assert (files["i1"].filename, about["i1"]["folder"]) == ("light.md", "Week 1/Slides")
    assert (files["i2"].filename, "folder" in about["i2"]) == ("light.md", False)
    assert about["i3"]["source_url"] == "https://light.example/speed"
    [passage] = [it for it in await heddle.search(BO, SHELF, "prism") if "splits" in it]  # type: ignore[union-attr] # a list
    assert passage == PRISM.decode()


async def test_a_library_is_edited_and_imported_again(heddle: Import) -> None:
    await heddle.run()
    one = (await attached(heddle))["i3"]
    detach = files_pb2.DetachFileRequest(collection=one.collection_id, file_id=one.file_id)
    await heddle.ask(BO, "DetachFile", detach)
    assert set(await attached(heddle)) == {"i1", "i2"}
    with calling_as(Caller("", ROOT)):
        stub = migration_pb2_grpc.MigrationServiceStub(heddle.migration)
        request = pb.RunMigrationRequest(kind=JOB_KIND_ROLLBACK)
        assert [each async for each in stub.RunMigration(request, **new_call_options(60))]
    again = await heddle.run()
    assert again.counts["libraries"] == (2, 0, 1, 1)
    assert again.counts["library_items"] == (4, 1, 2, 1)


async def test_a_library_of_an_older_server_has_no_folders(tmp_path: Path) -> None:
    lamb = with_libraries(tmp_path / "lamb_v4.db")
    async with (
        library_server(has_folders=False) as url,
        importing(tmp_path, lamb, "", lamb_library_url=url, lamb_library_token=TOKEN) as heddle,
    ):
        await heddle.run()
        assert set(await attached(heddle)) == {"i1", "i2", "i3"}


async def test_a_library_without_a_server_is_refused(tmp_path: Path) -> None:
    lamb = with_libraries(tmp_path / "lamb_v4.db")
    async with importing(tmp_path, lamb, "") as heddle:
        report = await heddle.run()
        assert (
            "HEDDLE_MIGRATION_LAMB_LIBRARY_URL" in report.findings["libraries"][SHELF].error.message
        )
        with pytest.raises(grpc.aio.AioRpcError):
            await shelf(heddle)
