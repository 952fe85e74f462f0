"""What LAMB's assistants used."""

from collections.abc import Sequence
from typing import Any

from heddle.assistant.v1 import rows_pb2

from heddle_migration_service.lamb import assistants
from heddle_migration_service.lamb.kinds import Draft, Kind
from heddle_migration_service.lamb.organization_slugs import OrganizationSlugs
from heddle_migration_service.lamb.tables import LambTables
from heddle_migration_service.lamb.values import LambRow

TABLE = "assistant_usage_totals"
CONNECTOR, MODEL = "lamb", "total"
"""What the usage before an import is counted under: LAMB's sums do not tell models apart."""
_LOGS = "usage_logs"
_COLUMNS = ("assistant_id", "prompt_tokens_total", "completion_tokens_total", "cost_usd_total")
_PICOS = 10**12
_MAX_AMOUNT = 2**62


async def _drafts(tables: LambTables, _: OrganizationSlugs, rows: Sequence[LambRow]) -> list[Draft]:
    keys = [key for row in rows if (key := row.whole("assistant_id")) is not None]
    columns = ("name", "created_at")
    known = {
        row.whole("id"): row for row in await tables.matching(assistants.TABLE, "id", keys, columns)
    }
    requests = await tables.counts(_LOGS, "assistant_id", keys)
    drafts = []
    for row in rows:
        key = row.whole("assistant_id") or 0
        assistant = known.get(key)
        created_at = None if assistant is None else assistant.seconds("created_at")
        values = {
            "assistant_id": str(key),
            "assistant_created_at": created_at or 0,
            "connector": CONNECTOR,
            "model": MODEL,
            "requests": requests.get(key, 0),
            "prompt_tokens": _amount(row, "prompt_tokens_total"),
            "completion_tokens": _amount(row, "completion_tokens_total"),
            "cost_picos": _amount(row, "cost_usd_total", _PICOS),
        }
        draft = Draft(key, "" if assistant is None else assistant.text("name") or "", values)
        if assistant is None:
            draft.refuse("LAMB has no such assistant any more.")
        drafts.append(draft)
    return drafts


def _amount(row: LambRow, name: str, factor: int = 1) -> int:
    try:
        amount = round(float(row.text(name) or 0) * factor)
    except (ValueError, OverflowError):
        return 0
    return min(max(amount, 0), _MAX_AMOUNT)


def _row(**values: Any) -> rows_pb2.UsageRow:  # noqa: ANN401 - columns of any type
    return rows_pb2.UsageRow(**values)


USAGE = Kind(TABLE, _COLUMNS, "usage", _row, ("assistant_id",), _drafts)
