"""The state in which a run ended, for whoever debugs an assistant: short and without secrets."""

from collections.abc import Iterable

from google.protobuf.struct_pb2 import Struct
from heddle.tool.v1 import tool_pb2
from heddle_runtime.frontend_payloads import shown, written
from heddle_runtime.struct_codec import from_struct, to_struct

from heddle_orchestrator.agent.environment import members
from heddle_orchestrator.agent.state import State

_LONGEST_TEXT = 200
_MOST_CHARS = 50_000


def traced(state: State) -> tool_pb2.TreeData:
    """Return a copy whose texts and objects are bounded, as the contract says of a trace."""
    tree = state.told()
    tree.user_prompt = _text(tree.user_prompt)
    environment = tree.environment
    room = _MOST_CHARS
    for found in environment.found:
        found.metadata.CopyFrom(_short(found.metadata))
        found.message = _text(found.message)
        kept = _within(found.objects_json, room)
        environment.left_out += len(found.objects_json) - len(kept)
        room -= sum(map(len, kept))
        del found.objects_json[:]
        found.objects_json.extend(kept)
    for error in environment.errors:
        error.message, error.suggestion = _text(error.message), _text(error.suggestion)
    for past in tree.history:
        past.inputs_json = _object(past.inputs_json)
    return tree


def _within(objects: Iterable[str], room: int) -> list[str]:
    kept: list[str] = []
    for text in map(_object, objects):
        room -= len(text)
        if room < 0:
            break
        kept.append(text)
    return kept


def _text(text: str) -> str:
    return str(shown(text, _LONGEST_TEXT))


def _object(text: str) -> str:
    return written(shown(members(text), _LONGEST_TEXT))


def _short(metadata: Struct) -> Struct:
    return to_struct(shown(from_struct(metadata), _LONGEST_TEXT))
