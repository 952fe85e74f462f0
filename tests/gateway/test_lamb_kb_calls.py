"""Every call that LAMB's backend makes to its knowledge-base server, and what it reads in answers.

LAMB sends more members than Heddle uses, and its forms have fields of all plugins.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import Any

import pytest
from gateway.shelves import SHARED_LOOP, Shelves
from gateway.test_lamb_kb import LAMBS, ingested, new_collection

JOB: dict[str, Any] = {
    "id": int,
    "job_id": int,
    "collection_id": int,
    "collection_name": str,
    "original_filename": str,
    "file_path": str,
    "file_url": str,
    "file_size": int,
    "content_type": (str, NoneType),
    "plugin_name": str,
    "plugin_params": dict,
    "status": str,
    "document_count": int,
    "created_at": str,
    "updated_at": str,
    "processing_started_at": (str, NoneType),
    "processing_completed_at": (str, NoneType),
    "progress": (dict, NoneType),
    "error_message": (str, NoneType),
    "error_details": (dict, NoneType),
    "processing_stats": (dict, NoneType),
    "owner": str,
}
FILE: dict[str, Any] = {
    "id": int,
    "collection_id": int,
    "document_count": int,
    "original_filename": str,
    "file_size": int,
    "file_url": str,
    "status": str,
    "created_at": int,
    "plugin_name": str,
}
COLLECTION: dict[str, Any] = {
    "id": int,
    "name": str,
    "description": str,
    "owner": str,
    "visibility": str,
    "creation_date": str,
    "embeddings_model": dict,
}
RESULT: dict[str, Any] = {"similarity": float, "data": str, "metadata": dict}
UPLOAD: dict[str, Any] = {"files": {"file": ("new.md", b"A reed.", "text/markdown")}}
INGESTED: dict[str, Any] = {
    "file_registry_id": int,
    "status": "processing",
    "documents_added": 0,
    "original_filename": "new.md",
    "file_url": str,
    "file_path": str,
    "plugin_name": str,
    "collection_id": int,
    "collection_name": str,
    "success": True,
}
PAGE = "https://page.example/looms"
VIDEO = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"
NUMBERS = ("pending", "processing", "completed", "failed", "cancelled", "deleted")


@dataclass(frozen=True)
class KbCall:
    """A request of LAMB's, and what LAMB needs of the answer."""

    does: str
    method: str
    path: str
    """With `{id}` for a collection, and `{file}`, `{failed}` for files of it."""
    members: Any = None
    """A type or a value for each member, or a list with one of them for its items."""
    request: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


CALLS = [
    KbCall("asks whether the server is there", "GET", "/health", {"status": "ok", "version": str}),
    KbCall("asks for a greeting", "GET", "/", {"message": str}),
    KbCall(
        "lists a user's collections",
        "GET",
        "/collections",
        {"total": 1, "items": [COLLECTION]},
        {"params": {"owner": "7"}},
    ),
    KbCall("lists all collections", "GET", "/api/collections", {"items": [COLLECTION]}),
    KbCall(
        "announces an organisation",
        "POST",
        "/organizations/",
        {"external_id": "3"},
        {"json": {"external_id": "3", "name": "Uni"}},
    ),
    KbCall(
        "creates a collection of an organisation",
        "POST",
        "/collections",
        COLLECTION,
        {
            "json": {
                **LAMBS,
                "name": "another_one",
                "organization_external_id": "3",
                "embeddings_setup_key": "default",
            }
        },
        201,
    ),
    KbCall(
        "creates a collection without an organisation",
        "POST",
        "/collections",
        COLLECTION,
        {
            "json": {
                **LAMBS,
                "name": "another_one",
                "embeddings_model": dict.fromkeys(
                    ("model", "vendor", "api_endpoint", "apikey"), "default"
                ),
            }
        },
        201,
    ),
    KbCall(
        "creates a collection twice",
        "POST",
        "/collections",
        {"detail": str},
        {"json": LAMBS},
        409,
    ),
    KbCall("reads a collection", "GET", "/collections/{id}", COLLECTION | {"owner": "7"}),
    KbCall("reads no collection", "GET", "/collections/404", {"detail": str}, status=404),
    KbCall("lists files", "GET", "/collections/{id}/files", [FILE]),
    KbCall("reads no job", "GET", "/ingestion/{id}/jobs/404", {"detail": str}, status=404),
    KbCall(
        "changes a collection",
        "PATCH",
        "/collections/{id}",
        COLLECTION | {"name": "reeds", "description": "Reeds.", "visibility": "public"},
        {"json": {"name": "reeds", "description": "Reeds.", "visibility": "public"}},
    ),
    KbCall("deletes a collection", "DELETE", "/collections/{id}", {"id": int, "name": str}),
    KbCall(
        "searches for an assistant",
        "POST",
        "/collections/{id}/query",
        {"results": [RESULT], "count": 1, "timing": dict, "query": "shed"},
        {"json": {"query_text": "shed", "top_k": 3, "threshold": 0.0, "plugin_params": {}}},
    ),
    KbCall(
        "searches for an assistant with sections",
        "POST",
        "/collections/{id}/query?plugin_name=parent_child_query",
        {"results": [RESULT], "count": 1},
        {"json": {"query_text": "shed", "top_k": 3, "threshold": 0.0, "plugin_params": {}}},
    ),
    KbCall(
        "tests a search on its page",
        "POST",
        "/collections/{id}/query?plugin_name=simple_query",
        {"results": [RESULT]},
        {"json": {"query_text": "shed", "plugin_params": {"top_k": 5, "threshold": 0.0}}},
    ),
    KbCall(
        "searches with an unknown plugin",
        "POST",
        "/collections/{id}/query?plugin_name=unknown",
        {"detail": str},
        {"json": {"query_text": "shed"}},
        404,
    ),
    KbCall(
        "uploads a file",
        "POST",
        "/collections/{id}/ingest-file",
        INGESTED,
        UPLOAD
        | {
            "data": {
                "collection_id": "{id}",
                "plugin_name": "simple_ingest",
                "owner": "7",
                "chunk_size": "100",
                "chunk_unit": "char",
                "chunk_overlap": "20",
            }
        },
    ),
    KbCall(
        "uploads a file to a plugin with parameters",
        "POST",
        "/collections/{id}/ingest-file",
        INGESTED | {"plugin_name": "markitdown_ingest"},
        UPLOAD
        | {
            "data": {
                "collection_id": "{id}",
                "owner": "7",
                "plugin_name": "markitdown_ingest",
                "plugin_params": json.dumps({"chunk_size": 1000, "chunk_overlap": 200}),
            }
        },
    ),
    KbCall(
        "uploads a file to a plugin with parameters of another one",
        "POST",
        "/collections/{id}/ingest-file",
        {"detail": str},
        UPLOAD
        | {
            "data": {
                "collection_id": "{id}",
                "plugin_name": "simple_ingest",
                "plugin_params": json.dumps({"video_url": VIDEO}),
            }
        },
        400,
    ),
    KbCall(
        "adds texts",
        "POST",
        "/collections/{id}/documents",
        {"collection_id": int, "collection_name": str, "documents_added": 2, "success": True},
        {
            "json": {
                "documents": [
                    {"text": "A reed.", "metadata": {"source": "reed.md", "chunk_index": 0}},
                    {"text": "A shed.", "metadata": {}},
                ]
            }
        },
    ),
    KbCall(
        "adds web pages",
        "POST",
        "/collections/{id}/ingest-url",
        INGESTED | {"original_filename": PAGE, "file_url": PAGE, "plugin_name": "url_ingest"},
        {
            "json": {
                "urls": [PAGE],
                "plugin_name": "url_ingest",
                "plugin_params": {"chunk_size": 1000, "chunk_overlap": 200},
            }
        },
    ),
    KbCall(
        "adds a video without a file",
        "POST",
        "/collections/{id}/ingest-base",
        INGESTED | {"original_filename": str, "plugin_name": "youtube_transcript_ingest"},
        {
            "json": {
                "plugin_name": "youtube_transcript_ingest",
                "plugin_params": {"video_url": VIDEO, "language": "en", "chunk_duration": 60},
            }
        },
    ),
    KbCall(
        "adds web pages without a file",
        "POST",
        "/collections/{id}/ingest-base",
        INGESTED | {"original_filename": PAGE, "plugin_name": "url_ingest"},
        {"json": {"plugin_name": "url_ingest", "plugin_params": {"urls": [PAGE]}}},
    ),
    KbCall(
        "lists files that have a status",
        "GET",
        "/collections/{id}/files",
        [FILE | {"status": "failed"}],
        {"params": {"status": "failed"}},
    ),
    KbCall("deletes a file", "DELETE", "/collections/{id}/files/{file}", {"id": int}),
    KbCall(
        "lists jobs",
        "GET",
        "/collections/{id}/ingestion-jobs",
        {"total": 2, "items": [JOB], "limit": 50, "offset": 0, "has_more": False},
        {"params": {"limit": 50, "offset": 0, "sort_by": "created_at", "sort_order": "desc"}},
    ),
    KbCall(
        "lists jobs with a status",
        "GET",
        "/collections/{id}/ingestion-jobs",
        {"total": 0, "items": []},
        {"params": {"limit": 50, "offset": 0, "status": "deleted"}},
    ),
    KbCall(
        "reads a job that has succeeded",
        "GET",
        "/collections/{id}/ingestion-jobs/{file}",
        JOB
        | {"status": "completed", "processing_started_at": str, "processing_completed_at": str}
        | {"processing_stats": dict, "document_count": 1, "content_type": str},
    ),
    KbCall(
        "reads a job that has failed",
        "GET",
        "/collections/{id}/ingestion-jobs/{failed}",
        JOB | {"status": "failed", "error_message": str, "error_details": dict},
    ),
    KbCall(
        "reads no job", "GET", "/collections/{id}/ingestion-jobs/99", {"detail": str}, status=404
    ),
    KbCall(
        "counts jobs",
        "GET",
        "/collections/{id}/ingestion-status",
        {
            "collection_id": int,
            "collection_name": str,
            "total_jobs": 2,
            "by_status": dict.fromkeys(NUMBERS, int),
            "currently_processing": 0,
            "recent_failures": [JOB],
            "oldest_processing_job": None,
        },
    ),
    KbCall(
        "retries a job that has failed",
        "POST",
        "/collections/{id}/ingestion-jobs/{failed}/retry",
        JOB | {"status": "pending", "error_message": None},
    ),
    KbCall(
        "retries a job with other parameters",
        "POST",
        "/collections/{id}/ingestion-jobs/{failed}/retry",
        JOB,
        {"json": {"new_params": {"chunk_size": 500}}},
    ),
    KbCall(
        "retries a job that has succeeded",
        "POST",
        "/collections/{id}/ingestion-jobs/{file}/retry",
        {"detail": str},
        status=400,
    ),
    KbCall(
        "cancels a job that has ended",
        "POST",
        "/collections/{id}/ingestion-jobs/{file}/cancel",
        {"detail": str},
        status=400,
    ),
    KbCall(
        "retries no job",
        "POST",
        "/collections/{id}/ingestion-jobs/99/retry",
        {"detail": str},
        status=404,
    ),
    KbCall(
        "lists the plugins that read files",
        "GET",
        "/ingestion/plugins",
        [{"name": str, "description": str, "kind": str, "parameters": dict}],
    ),
    KbCall(
        "lists the plugins that search",
        "GET",
        "/query/plugins",
        [{"name": str, "description": str, "parameters": dict}],
    ),
    KbCall("reads how it shows jobs", "GET", "/config/ingestion", {"refresh_rate": int}),
    KbCall(
        "reads the embeddings",
        "GET",
        "/config/embeddings",
        {
            "vendor": str,
            "model": str,
            "api_endpoint": None,
            "apikey_configured": False,
            "apikey_masked": None,
            "config_source": str,
        },
    ),
    KbCall(
        "sets the embeddings that apply",
        "PUT",
        "/config/embeddings",
        {"message": str},
        {"json": {"vendor": "heddle"}},
    ),
    KbCall(
        "sets other embeddings",
        "PUT",
        "/config/embeddings",
        {"detail": str},
        {"json": {"vendor": "openai", "model": "text-embedding-3-small", "apikey": "sk-1234"}},
        400,
    ),
    KbCall(
        "changes the key of a user's embeddings",
        "PUT",
        "/collections/owner/7/embeddings",
        {"total": 1, "updated": 1, "failed": 0, "collections": [{"id": int, "name": str}]},
        {"json": {"embeddings_model": {"apikey": "sk-1234"}}},
    ),
    KbCall(
        "changes the key of a user without collections",
        "PUT",
        "/collections/owner/404/embeddings",
        {"total": 0, "updated": 0},
        {"json": {"embeddings_model": {"apikey": "sk-1234"}}},
    ),
    KbCall(
        "marks a file as deleted",
        "PUT",
        "/collections/files/{file}/status?status=deleted",
        FILE | {"status": "deleted"},
    ),
    KbCall(
        "marks a file as it is",
        "PUT",
        "/collections/files/{failed}/status?status=failed",
        FILE | {"status": "failed"},
    ),
    KbCall(
        "marks a file as completed",
        "PUT",
        "/collections/files/{failed}/status?status=completed",
        {"detail": str},
        status=400,
    ),
    KbCall(
        "marks no file",
        "PUT",
        "/collections/files/404/status?status=deleted",
        {"detail": str},
        status=404,
    ),
    KbCall("deletes no file", "DELETE", "/collections/{id}/files/404", {"detail": str}, status=404),
    KbCall(
        "sends a body that is not JSON",
        "POST",
        "/collections/{id}/query",
        {"detail": str},
        {"content": b"not JSON"},
        422,
    ),
    KbCall("resets the embeddings", "DELETE", "/config/embeddings", {"message": str}),
    KbCall(
        "reads the state of the databases",
        "GET",
        "/database/status",
        {
            "sqlite_status": {"initialized": bool, "schema_valid": bool, "errors": [str]},
            "chromadb_status": {"initialized": True, "collections_count": 1},
            "collections_count": 1,
        },
    ),
]

pytestmark = pytest.mark.asyncio(loop_scope=SHARED_LOOP)


@pytest.fixture
def shelf(shelves_of_new_people: Shelves) -> Shelves:
    return shelves_of_new_people


READING = [each for each in CALLS if each.method == "GET"]
CHANGING = [each for each in CALLS if each.method != "GET"]


@pytest.mark.parametrize("call", CHANGING, ids=[each.does for each in CHANGING])
async def test_lamb(call: KbCall, shelf: Shelves) -> None:
    await check_answer(call, shelf, await filled(shelf))


async def test_lamb_reads(shelf: Shelves, subtests: pytest.Subtests) -> None:
    names = await filled(shelf)
    for call in READING:
        with subtests.test(call.does):
            await check_answer(call, shelf, names)


async def filled(shelf: Shelves) -> dict[str, str]:
    """Make a collection with a file, and one that failed; return their ids."""
    path = await new_collection(shelf)
    file = await ingested(shelf, path, "sheds.md", "A shed is what the shuttle passes through.")
    failed = await ingested(shelf, path, "broken.pdf", "this is no PDF")
    assert (file["status"], failed["status"]) == ("completed", "failed")
    return {"id": path.removeprefix("/collections/"), "file": file["id"], "failed": failed["id"]}


async def check_answer(call: KbCall, shelf: Shelves, names: Mapping[str, str]) -> None:
    """Make a call, and check its answer."""
    request = dict(call.request)
    if "data" in request:
        request["data"] = {
            key: value.replace("{id}", names["id"]) for key, value in request["data"].items()
        }
    response = await shelf["ana"].request(call.method, call.path.format(**names), **request)
    assert response.status_code == call.status, response.text
    check(response.json(), call.members, "answer")


def check(value: Any, expected: Any, place: str) -> None:
    """Check that a value has the members of a row."""
    if isinstance(expected, type | tuple):
        assert isinstance(value, expected), place
    elif isinstance(expected, dict):
        assert isinstance(value, dict), place
        for name, member in expected.items():
            assert name in value, f"{place}.{name}"
            check(value[name], member, f"{place}.{name}")
    elif isinstance(expected, list):
        assert isinstance(value, list), place
        assert bool(value) or not expected or expected == [str], place
        for item in value:
            check(item, expected[0], place)
    else:
        assert value == expected, place


async def test_a_call_without_a_key_is_refused(shelf: Shelves) -> None:
    for path in ("/collections", "/config/embeddings", "/database/status", "/api/collections"):
        response = await shelf["ana"].get(path, headers={"authorization": "Bearer wrong"})
        assert response.status_code == 401, path
