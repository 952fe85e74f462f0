"""Migrating assistants to the newest format."""

import json
from collections.abc import Sequence
from typing import cast

from heddle.assistant.v1 import rows_pb2 as rows
from heddle_conversion import LegacyColumns, convert_row, dump

from heddle_migration_service.batch_jobs.job import Change
from heddle_migration_service.row_batches import RowBatches


class Migrate:
    """Migrates the assistants that are of an older format."""

    view = rows.ROW_VIEW_CONVERSION

    def change(self, row: rows.StoredRow) -> Change | None:
        """Return the new metadata, None if the row is of the newest format already."""
        if row.is_current:
            return None
        conversion = convert_row(row.id, row.row.metadata, legacy_columns(row.row))
        if not conversion.changed:
            return None
        replacement = rows.Replacement(
            id=row.id,
            version=row.version,
            metadata=dump(conversion.metadata),
            from_version=conversion.from_version,
        )
        return Change(row.id, row.row.name, replacement, [*conversion.notes, *row.faults])

    async def write(self, batches: RowBatches, changes: Sequence[Change]) -> Sequence[int]:
        """Replace the metadata; the assistants service stores the originals."""
        return await batches.replace([cast("rows.Replacement", each.message) for each in changes])


def legacy_columns(row: rows.AssistantRow) -> LegacyColumns:
    """Return the columns that held a part of the configuration before version 2."""
    top_k = json.loads(row.rag_top_k_json) if row.HasField("rag_top_k_json") else None
    collections = row.rag_collections if row.HasField("rag_collections") else None
    return LegacyColumns(top_k, collections)
