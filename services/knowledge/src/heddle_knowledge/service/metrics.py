"""Measures searches and ingestions."""

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from time import perf_counter

from heddle_runtime.errors import error_type
from heddle_runtime.telemetry import spans
from heddle_runtime.telemetry.metrics import table

from heddle_knowledge.collection.types import Ingested, IngestProgress
from heddle_knowledge.errors import KnowledgeError

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
