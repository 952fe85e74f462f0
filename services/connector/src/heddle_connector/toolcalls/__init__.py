"""Tool calls that models write as text.

A pure library: text and functions in, calls out. Nothing here runs a call, or knows who may.
"""

from heddle_connector.toolcalls.events import (
    CallCutOff,
    CallRead,
    ContentPiece,
    ReadEvent,
    ReasoningPiece,
)
from heddle_connector.toolcalls.formats import FORMATS
from heddle_connector.toolcalls.reader import ToolCallReader, is_plain

__all__ = [
    "FORMATS",
    "CallCutOff",
    "CallRead",
    "ContentPiece",
    "ReadEvent",
    "ReasoningPiece",
    "ToolCallReader",
    "is_plain",
]
