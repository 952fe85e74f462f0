"""Column types that behave alike on SQLite and PostgreSQL."""

import json
from collections.abc import Callable
from typing import Any

from sqlalchemy import BigInteger, Integer, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

# SQLite counts rows itself only in a column of exactly this name, which holds 64 bits there.
Identifier = BigInteger().with_variant(Integer, "sqlite")
Seconds = BigInteger().with_variant(Integer, "sqlite")
"""Seconds since 1970, past 2038 too."""
Amount = BigInteger().with_variant(Integer, "sqlite")
"""Counts that may exceed 32 bits."""

Processor = Callable[[Any], Any]


class Untyped(TypeDecorator[Any]):
    """Stores a number, a text or nothing without conversion: 3 stays 3 and "3" stays "3".

    SQLite keeps any value in any column, so imported rows hold both; PostgreSQL has one type for
    each column. What is stored is the value as JSON.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: object, dialect: Dialect) -> str | None:
        """Return the text to store."""
        return None if value is None else json.dumps(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> object:
        """Return the value that was stored."""
        return None if value is None else json.loads(value)
