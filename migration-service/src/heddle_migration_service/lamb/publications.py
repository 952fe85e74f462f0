"""What LAMB says about which assistants are published.

Older databases have columns of the table of assistants for it. Where there is a table of
publications, LAMB itself reads only that.
"""

from collections.abc import Sequence

from heddle.migration.v1 import migration_pb2 as pb

from heddle_migration_service.lamb.tables import LambTables
from heddle_migration_service.lamb.values import LambRow

TABLE = "assistant_publish"
COLUMNS = ("published", "published_at", "group_id", "group_name", "oauth_consumer_name")
"""Of the table of assistants, in older databases."""
_COLUMNS = ("group_id", "group_name", "oauth_consumer_name", "created_at")
_NOBODY = "null"  # LAMB writes the word


async def publications(
    tables: LambTables, rows: Sequence[LambRow]
) -> dict[int | None, dict[str, object]]:
    """Return Heddle's columns about publication, for the ids of some assistants."""
    if not await tables.columns(TABLE):
        return {row.whole("id"): _own(row) for row in rows}
    keys = [key for row in rows if (key := row.whole("id")) is not None]
    by_key: dict[int | None, dict[str, object]] = {}
    for row in await tables.matching(TABLE, "assistant_id", keys, _COLUMNS):
        # The oldest databases can have several for one assistant.
        key, values = row.whole("assistant_id"), _values(row)
        if values["published"] or not by_key.get(key, {}).get("published"):
            by_key[key] = values
    return by_key


async def strays(tables: LambTables) -> list[pb.Finding]:
    """Tell of publications whose assistant is gone."""
    columns = ("assistant_name",)
    return [
        pb.Finding(
            id=str(row.whole("assistant_id")),
            name=row.text("assistant_name") or "",
            notes=["LAMB published it, and has no such assistant any more."],
        )
        for row in await tables.dangling(TABLE, "assistant_id", "assistants", columns)
    ]


def _own(row: LambRow) -> dict[str, object]:
    published = row.flag("published")
    published_at = row.seconds("published_at") if published else None
    return {**_texts(row), "published": published, "published_at": published_at}


def _values(row: LambRow) -> dict[str, object]:
    texts = _texts(row)
    published = texts["oauth_consumer_name"] is not None
    published_at = row.seconds("created_at") if published else None
    return {**texts, "published": published, "published_at": published_at}


def _texts(row: LambRow) -> dict[str, object]:
    consumer = row.text("oauth_consumer_name")
    return {
        "group_id": row.text("group_id"),
        "group_name": row.text("group_name"),
        "oauth_consumer_name": None if consumer == _NOBODY else consumer,
    }
