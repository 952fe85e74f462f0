"""What the catalogue keeps of a collection as one JSON text, so that more needs no new column."""

import dataclasses
import json
from types import MappingProxyType
from typing import Any

from heddle_knowledge.chunking.options import Chunking
from heddle_knowledge.records import Collection

_PLAIN = (
    *("organization", "owner", "sharing", "page_handling", "late_interaction", "graph"),
    "language",
)


def written(collection: Collection) -> str:
    """Return the text that keeps whose a collection is and how it treats its documents."""
    fields = {name: getattr(collection, name) for name in _PLAIN}
    fields["chunking"] = dataclasses.asdict(collection.chunking)
    fields["metadata"] = dict(collection.metadata)
    return json.dumps(fields, ensure_ascii=False)


def read(text: str) -> dict[str, Any]:
    """Return the fields of a collection that a text keeps; what it lacks is as it was before.

    Args:
        text: As of `written`, by this version or an older one; empty for a collection of a store
            from before there was one, which is the operator's.
    """
    fields = json.loads(text) if text else {}
    attributes = {name: fields[name] for name in _PLAIN if name in fields}
    if "chunking" in fields:
        attributes["chunking"] = Chunking(**fields["chunking"])
    if "metadata" in fields:
        attributes["metadata"] = MappingProxyType(fields["metadata"])
    return attributes
