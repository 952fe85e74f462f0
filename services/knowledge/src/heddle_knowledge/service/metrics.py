"""Measures searches and ingestions."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter

from heddle_runtime.errors import error_type
from heddle_runtime.telemetry import spans
from heddle_runtime.telemetry.metrics import table

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


def _retrieval(engine: str) -> spans.Attributes:
    return {"gen_ai.operation.name": "retrieval", "db.system.name": engine}
