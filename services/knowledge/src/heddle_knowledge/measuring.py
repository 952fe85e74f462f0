"""Measures searches and ingestions."""

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from functools import wraps
from time import perf_counter
from typing import ParamSpec

from heddle_runtime.metrics import table
from heddle_runtime.telemetry import spans

from heddle_knowledge.errors import KnowledgeError
from heddle_knowledge.records import Ingested, IngestProgress

Parameters = ParamSpec("Parameters")
Ingest = Callable[Parameters, AsyncGenerator[IngestProgress | Ingested]]


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
        failure = table.error_type(error)
        raise
    finally:
        table.RETRIEVAL.observe(perf_counter() - started, engine, failure)


def count_if_empty(engine: str, results: Sequence[object]) -> None:
    """Count a search that found nothing."""
    if not results:
        table.EMPTY_RETRIEVALS.add(1, engine)


def counted_ingestion(ingest: "Ingest[Parameters]") -> "Ingest[Parameters]":
    """Count the documents that a method ingests, by outcome."""

    @wraps(ingest)
    async def counting(
        *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> AsyncGenerator[IngestProgress | Ingested]:
        try:
            async with aclosing(ingest(*args, **kwargs)) as events:
                async for event in events:
                    if isinstance(event, Ingested):
                        table.INGESTED_DOCUMENTS.add(1, _outcome(event))
                    yield event
        except Exception:
            table.INGESTED_DOCUMENTS.add(1, "failed")
            raise

    return counting


def _retrieval(engine: str) -> spans.Attributes:
    return {"gen_ai.operation.name": "retrieval", "db.system.name": engine}


def _outcome(event: Ingested) -> str:
    if event.unchanged:
        return "unchanged"
    return "replaced" if event.replaced else "new"
