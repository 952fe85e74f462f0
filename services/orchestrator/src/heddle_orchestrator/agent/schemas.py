"""The schemas of tools, which strangers may have written."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import structlog
from heddle_runtime.json_schema import Schema, SchemaError

log = structlog.get_logger(__name__)


def compiled(schema: Mapping[str, Any]) -> Schema | None:
    """Return what checks inputs; None, after a warning, if nothing can be checked against it.

    Such inputs go on: whoever runs the tool checks them as well.
    """
    return _compiled(json.dumps(schema))


@lru_cache(256)
def _compiled(schema: str) -> Schema | None:
    try:
        return Schema(json.loads(schema))
    except SchemaError as error:
        log.warning("The inputs of a tool are not checked, its schema is wrong", reason=str(error))
        return None
