"""Reads an assistant as one that a file or a request describes."""

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_conversion.assistant_json import read_fields


def read_assistant(document: object) -> pb.Assistant:
    """Return the assistant that a document describes without a fault."""
    assistant, errors = read_fields(document)
    assert errors == []
    return assistant
