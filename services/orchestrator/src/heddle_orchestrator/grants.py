"""The grant that lets the tools of an assistant read collections with its owner's rights."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_runtime.grants import Grant
from heddle_runtime.struct_codec import from_struct

_MEMBERS = frozenset({"collection", "collections"})


def grant_of(assistant: pb.Assistant) -> Grant:
    """Return what the tools of an assistant may read.

    The collections are those in members `collection` and `collections` of the configurations of
    its bindings, at any depth.
    """
    names = (
        name for binding in assistant.tools for name in _collections(from_struct(binding.config))
    )
    return Grant(assistant.owner, assistant.organization, tuple(dict.fromkeys(names)))


def _collections(config: Mapping[str, Any]) -> Iterator[str]:
    for key, value in config.items():
        if key in _MEMBERS:
            yield from _texts(value)
        elif isinstance(value, Mapping):
            yield from _collections(value)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, Mapping):
                    yield from _collections(item)


def _texts(value: object) -> Iterable[str]:
    values = value if isinstance(value, list) else [value]
    return (text for text in values if isinstance(text, str) and text)
