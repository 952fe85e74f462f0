"""How the command drives an ingestion, against a channel that the test answers."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import grpc_testing
import pytest
from heddle.knowledge.v1 import knowledge_pb2
from heddle.knowledge.v1.knowledge_pb2_grpc import KnowledgeServiceStub
from heddle_cli.connections import Connection
from heddle_cli.documents import Document
from heddle_cli.ingestion import Outcome, ingest_document
from heddle_cli.secret import authorized
from heddle_runtime.errors import UnavailableError

SERVICE = knowledge_pb2.DESCRIPTOR.services_by_name["KnowledgeService"]
COMMON = knowledge_pb2.IngestDocumentRequest(collection="kb", metadata={"k": "v"})
METHOD = SERVICE.methods_by_name["IngestDocument"]


@pytest.fixture
def document(tmp_path: Path) -> Document:
    path = tmp_path / "a.md"
    path.write_text("# A")
    return Document(path, "a.md")


def exchange(
    document: Document,
    responses: list[knowledge_pb2.IngestDocumentResponse],
    code: grpc.StatusCode,
) -> tuple[
    Outcome | BaseException,
    list[tuple[str, int, int]],
    dict[str, str],
    knowledge_pb2.IngestDocumentRequest,
]:
    """Ingest over a channel of grpcio-testing; answer with `responses` and then `code`."""
    channel = grpc_testing.channel([SERVICE], grpc_testing.strict_real_time())
    seen: list[tuple[str, int, int]] = []
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(
            ingest_document,
            Connection(KnowledgeServiceStub(authorized(channel)), channel, "there:1"),
            COMMON,
            document,
            lambda *told: seen.append(told),
        )
        metadata, request, rpc = channel.take_unary_stream(METHOD)
        rpc.send_initial_metadata(())
        for response in responses:
            rpc.send_response(response)
        rpc.terminate((), code, "")
        outcome = future.exception(10) or future.result()
    return outcome, seen, dict(metadata), request


def test_progress_is_handed_on_until_the_document_is_whole(document: Document) -> None:
    responses = [
        knowledge_pb2.IngestDocumentResponse(
            progress=knowledge_pb2.IngestProgress(stage="embedding", done=done, total=2)
        )
        for done in (1, 2)
    ]
    whole = knowledge_pb2.Ingested(document=knowledge_pb2.Document(passage_count=1))
    responses.append(knowledge_pb2.IngestDocumentResponse(ingested=whole))

    outcome, seen, metadata, request = exchange(document, responses, grpc.StatusCode.OK)

    assert outcome == Outcome("new", "1 passage")
    assert seen == [("embedding", 1, 2), ("embedding", 2, 2)]
    assert metadata["x-request-id"].startswith("req_")
    assert (request.data, request.collection, request.metadata["k"]) == (b"# A", "kb", "v")


def test_a_stream_without_its_end_is_no_success(document: Document) -> None:
    outcome, *_ = exchange(document, [], grpc.StatusCode.OK)

    assert outcome == Outcome("failed", "The answer of the service was cut off.")


def test_a_service_that_went_away_ends_the_run(document: Document) -> None:
    error, *_ = exchange(document, [], grpc.StatusCode.UNAVAILABLE)

    assert isinstance(error, UnavailableError)
    assert "there:1" in error.message


def test_a_file_that_vanished_is_told_without_a_call(document: Document) -> None:
    document.path.unlink()
    channel = grpc_testing.channel([SERVICE], grpc_testing.strict_fake_time(time.time()))

    outcome = ingest_document(
        Connection(KnowledgeServiceStub(authorized(channel)), channel, "there:1"),
        COMMON,
        document,
        lambda *_: None,
    )

    assert outcome == Outcome("unreadable", "No such file or directory")
