"""Compiles the JSON Schemas of tools, and caches them."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import structlog
from heddle_runtime.contract.json_schema import Schema, SchemaError

log = structlog.get_logger(__name__)
_MAX_SCHEMAS = 256


def compiled(schema: Mapping[str, Any]) -> Schema | None:
    """Return a compiled schema; None, after a warning, if the schema is not valid.

    Without a schema the orchestrator does not check inputs. The tools service checks them too.
    """
    return _compiled(json.dumps(schema))


@lru_cache(_MAX_SCHEMAS)
def _compiled(schema: str) -> Schema | None:
    try:
        return Schema(json.loads(schema))
    except SchemaError as error:
        log.warning("inputs of a tool are not checked: its schema is invalid", reason=str(error))
        return None
