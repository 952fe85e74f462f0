"""Measures searches and ingestions."""

from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Sequence
from contextlib import aclosing, contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

from heddle_runtime.errors import error_type
from heddle_runtime.telemetry import spans
from heddle_runtime.telemetry.metrics import table

from heddle_knowledge.collection.types import Ingested, IngestProgress
from heddle_knowledge.errors import KnowledgeError

if TYPE_CHECKING:  # loads numpy
    from heddle_knowledge.embedders.embedding import Embedder

ResultT = TypeVar("ResultT")
PAGES = "pages"
"""The name in metrics for searches of pages by their pictures or texts."""


@contextmanager
def measured_search(engine: str, reason: Callable[[KnowledgeError], str]) -> Iterator[None]:
    """Record the duration of a search of one collection.

    Args:
        engine: What searches.
        reason: Returns the reason of the error that callers get for a failure.
    """
    started, failure = perf_counter(), ""
    try:
        with spans.span("retrieval", "CLIENT", lambda: _retrieval(engine)):
            yield
    except KnowledgeError as error:
        failure = reason(error)
        raise
    except BaseException as error:
        failure = error_type(error)
        raise
    finally:
        table.RETRIEVAL.observe(perf_counter() - started, engine, failure)


def traced_embedding(
    vectors: Coroutine[Any, Any, ResultT], embedder: "Embedder"
) -> Coroutine[Any, Any, ResultT]:
    """Return the work of an embedder with a span; the work itself if the request was not drawn."""
    if not spans.is_drawn():
        return vectors
    from heddle_knowledge.embedders.local_embedders import LocalEmbedder  # noqa: PLC0415 (slow)

    info, is_local = embedder.info(), isinstance(embedder, LocalEmbedder)
    return spans.traced_call(
        vectors,
        f"embeddings {info.model}",
        "INTERNAL" if is_local else "CLIENT",
        lambda: {
            "gen_ai.operation.name": "embeddings",
            "gen_ai.request.model": info.model,
            "gen_ai.embeddings.dimension.count": info.dim,
        },
    )


def count_if_empty(engine: str, results: Sequence[object]) -> None:
    """Count a search that found nothing."""
    if not results:
        table.EMPTY_RETRIEVALS.add(1, engine)


def describe_search(collection: str, top_k: int, results: Sequence[object]) -> None:
    """Add to the span of a search what was searched, and how much was found."""
    spans.annotate(
        lambda: {
            "gen_ai.data_source.id": collection,
            "gen_ai.retrieval.top_k": top_k,
            "heddle.retrieval.result_count": len(results),
        },
        f"retrieval {collection}",
    )


async def counted_ingestion(
    events: AsyncGenerator[IngestProgress | Ingested],
) -> AsyncGenerator[IngestProgress | Ingested]:
    """Yield the events of an ingestion, and count the document by its outcome."""
    try:
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Ingested):
                    table.INGESTED_DOCUMENTS.add(1, _outcome(event))
                yield event
    except Exception:
        table.INGESTED_DOCUMENTS.add(1, "failed")
        raise


def _retrieval(engine: str) -> spans.Attributes:
    return {"gen_ai.operation.name": "retrieval", "db.system.name": engine}


def _outcome(event: Ingested) -> str:
    if event.unchanged:
        return "unchanged"
    return "replaced" if event.replaced else "new"
