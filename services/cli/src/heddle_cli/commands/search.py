"""`heddle search`."""

from enum import StrEnum
from typing import Annotated, Any

import typer
from heddle.knowledge.v1 import knowledge_pb2
from heddle.knowledge.v1.knowledge_pb2_grpc import KnowledgeServiceStub
from heddle_runtime.errors import from_status

from heddle_cli.connections import connected
from heddle_cli.options import AsJson, CollectionName
from heddle_cli.terminal import notes, out, plain, show

_TIMEOUT = 30.0


class Mode(StrEnum):
    """How passages are found."""

    HYBRID = "hybrid"
    VECTOR = "vector"
    TEXT = "text"


class Reranking(StrEnum):
    """What reorders the best passages."""

    NONE = "none"
    MODEL = "model"


_MODES = {
    Mode.HYBRID: knowledge_pb2.SEARCH_MODE_HYBRID,
    Mode.VECTOR: knowledge_pb2.SEARCH_MODE_VECTOR,
    Mode.TEXT: knowledge_pb2.SEARCH_MODE_TEXT,
}


_RERANKINGS = {
    Reranking.NONE: knowledge_pb2.RERANKING_NONE,
    Reranking.MODEL: knowledge_pb2.RERANKING_MODEL,
}


def search(
    question: Annotated[str, typer.Argument(help="The question.")],
    *,
    collection: CollectionName,
    top_k: Annotated[int, typer.Option(min=1, max=100, help="The maximum number of passages.")] = 5,
    mode: Annotated[
        Mode, typer.Option(help="vector (by meaning), text (by words) or both.")
    ] = Mode.HYBRID,
    reranking: Annotated[
        Reranking,
        typer.Option(
            help="What reorders the best passages: model is the service's reranking model."
        ),
    ] = Reranking.NONE,
    as_json: AsJson = False,
) -> None:
    """Show the passages of a collection that match a question best."""
    request = knowledge_pb2.SearchCollectionsRequest(
        collections=[collection],
        query=question,
        top_k=top_k,
        mode=_MODES[mode],
        reranking=_RERANKINGS[reranking],
    )
    with connected("knowledge", KnowledgeServiceStub) as connection:
        (result,) = connection.stub.SearchCollections(request, timeout=_TIMEOUT).results
    if result.HasField("error"):
        raise from_status(result.error)
    for field in result.ignored_fields:
        notes.print(f"The server of the collection ignores the option --{field}.", style="yellow")
    if as_json:
        passages = [_members(each) for each in result.passages]
        show({"search_query": [question], "data": passages}, (), as_json=True)
        return
    if not result.passages:
        notes.print("No passage matches.", style="dim")
    for number, passage in enumerate(result.passages, start=1):
        out.print(plain(f"{number}. {_place(passage)}  {passage.similarity:.3f}"), style="bold")
        for line in plain(passage.text).strip().splitlines():
            out.print(f"   {line}".rstrip())
        out.print()


def _members(passage: knowledge_pb2.Passage) -> dict[str, Any]:
    return {
        "file_id": passage.document_id,
        "filename": passage.document,
        "score": passage.similarity,
        "attributes": dict(passage.metadata),
        "content": [{"type": "text", "text": passage.text}],
        "explanation": {
            "passage_id": passage.id,
            "document_id": passage.document_id,
            "page": passage.page or None,
            "headings": list(passage.headings),
        },
    }


def _place(passage: knowledge_pb2.Passage) -> str:
    parts = [passage.document, *passage.headings]
    if passage.page:
        parts.append(f"page {passage.page}")
    return " > ".join(parts)
