"""LAMB's prices of models, which Heddle stores with each organisation."""

import math
from typing import Any

from heddle_conversion import MalformedMetadataError, dump, parse

from heddle_migration_service.lamb.tables import LambTables
from heddle_migration_service.lamb.values import LambRow

TABLE = "model_pricing"
_COLUMNS = ("provider", "model_name", "input_per_1m", "output_per_1m", "cache_read_per_1m")
_MEMBER = "prices"
Prices = dict[str, dict[str, float]]


async def lamb_prices(tables: LambTables) -> Prices:
    """Return the prices in US dollars for a million tokens, by `connector/model`."""
    prices: Prices = {}
    async for rows in tables.batches(TABLE, _COLUMNS):
        for row in rows:
            model = f"{row.text('provider') or ''}/{row.text('model_name') or ''}"
            price = {
                "input": _number(row, "input_per_1m"),
                "output": _number(row, "output_per_1m"),
                "cached_input": _number(row, "cache_read_per_1m"),
            }
            known = {name: value for name, value in price.items() if value is not None}
            if {"input", "output"} <= known.keys() and not model.startswith("/"):
                prices[model] = known
    return prices


def with_prices(config: str, prices: Prices) -> str:
    """Return the settings of an organisation with prices, unless they have some already."""
    try:
        settings: dict[str, Any] = parse(config)
    except MalformedMetadataError:
        return config
    if not prices or _MEMBER in settings:
        return config
    return dump({**settings, _MEMBER: prices})


def _number(row: LambRow, name: str) -> float | None:
    try:
        number = float(row.text(name) or "nan")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
