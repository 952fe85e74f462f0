"""Documents to ask about."""

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_knowledge.document_queries.query_inputs import Fact

TYPES = ("application/pdf", "text/markdown", "text/html")


def facts(count: int = 40, collection: str = "manuals") -> list[Fact]:
    """Return documents of 2020 and later, a month apart, of three types and two authors."""
    return [
        Fact(
            f"doc_{number:032x}",
            collection,
            f"{collection}/{number}.txt",
            f"Manual {number}",
            "",
            TYPES[number % 3],
            1_000 * (number + 1),
            number + 1,
            number if number % 3 == 0 else None,
            f"{2020 + number // 12}-{number % 12 + 1:02d}-15 10:00:00",
            "2026-01-02 03:04:05",
            {"author": ("Ana", "Bo")[number % 2], "year": str(2020 + number // 12), "x y": "z"},
        )
        for number in range(count)
    ]


def rows_of(response: pb.QueryDocumentsResponse) -> list[tuple[object, ...]]:
    """Return the values of the rows of a response."""
    values = [[(cell, cell.WhichOneof("value")) for cell in row.cells] for row in response.rows]
    return [tuple(getattr(cell, kind) if kind else None for cell, kind in row) for row in values]
