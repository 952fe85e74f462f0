"""Takes over stores whose catalogue was kept in columns, at their first opening."""

import json
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from heddle_tools_service.knowledge.catalogue import Catalogue
from heddle_tools_service.knowledge.engines.interface import Engine, Layout
from heddle_tools_service.knowledge.records import Collection

_TABLE = "collections"
_COLUMNS = ("name", "id", "title", "backend", "settings", "model", "revision")
_NUMBERS = {"dim": pa.int32(), "created_at": pa.int64()}
_LAYOUT = Layout(
    _TABLE,
    pa.schema([*((name, pa.string()) for name in _COLUMNS), *_NUMBERS.items()]),
    keys=("id",),
)


async def take_over(engine: Engine, catalogue: Catalogue) -> None:
    """Bring an earlier catalogue over, if there is one. The store's lock must be held.

    A crash in the middle is made good by the next opening.
    """
    if _TABLE not in await engine.names():
        return
    table = await engine.open(_TABLE, _LAYOUT)
    for row in (await table.rows(_LAYOUT.schema.names)).to_pylist():
        if row["id"] not in await catalogue.all():
            await catalogue.add(_collection(row))
    table.close()
    await engine.drop(_TABLE)


def _collection(row: dict[str, Any]) -> Collection:
    settings = MappingProxyType(json.loads(row["settings"]))
    created_at = datetime.fromtimestamp(row["created_at"] / 1_000_000, UTC)
    return Collection(**(row | {"settings": settings, "created_at": created_at}))
