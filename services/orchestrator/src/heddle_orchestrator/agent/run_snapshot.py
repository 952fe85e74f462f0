"""Copies the state at the end of a run for a trace, shortened and without secrets."""

from collections.abc import Iterable

from google.protobuf.struct_pb2 import Struct
from heddle.tool.v1 import tool_pb2
from heddle_runtime.contract.frontend_payloads import shown, written
from heddle_runtime.contract.json_text import members
from heddle_runtime.contract.struct_codec import from_struct, to_struct

from heddle_orchestrator.agent.state import State

_MAX_TEXT_CHARS = 200
_MAX_OBJECT_CHARS = 50_000
"""The limit of all objects together."""


def snapshot(state: State) -> tool_pb2.TreeData:
    """Return a copy of the state with the limits that the contract sets for a trace."""
    tree = state.to_proto()
    tree.user_prompt, tree.query = _text(tree.user_prompt), _text(tree.query)
    environment = tree.environment
    room = _MAX_OBJECT_CHARS
    for finding in environment.findings:
        finding.metadata.CopyFrom(_shortened(finding.metadata))
        finding.message = _text(finding.message)
        objects = _first_objects(finding.objects_json, room)
        environment.left_out += len(finding.objects_json) - len(objects)
        room -= sum(map(len, objects))
        del finding.objects_json[:]
        finding.objects_json.extend(objects)
    for error in environment.errors:
        error.message, error.suggestion = _text(error.message), _text(error.suggestion)
    for past in tree.history:
        past.inputs_json = _object(past.inputs_json)
    return tree


def _first_objects(objects: Iterable[str], room: int) -> list[str]:
    first: list[str] = []
    for text in map(_object, objects):
        room -= len(text)
        if room < 0:
            break
        first.append(text)
    return first


def _text(text: str) -> str:
    return str(shown(text, _MAX_TEXT_CHARS, personal=True))


def _object(text: str) -> str:
    return written(shown(members(text), _MAX_TEXT_CHARS, personal=True))


def _shortened(metadata: Struct) -> Struct:
    return to_struct(shown(from_struct(metadata), _MAX_TEXT_CHARS, personal=True))
