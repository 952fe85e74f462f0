"""Translates conversations to the turns of the Messages API.

The API is stricter than OpenAI's. Instructions stand outside of the conversation. Users and the
model take turns, and a user has the first and the last turn. Texts are not blank. Results of tools
come before anything else in the turn after the calls, and identifiers of calls are unique.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from heddle_connector.sdk import (
    BAD_JSON,
    InvalidRequestError,
    Violation,
    arguments_object,
    inline_data,
)

CONTENT = "anthropic_content"
"""The passthrough field with the content of a message that has reasoning and calls.

The API rejects the results of calls unless the message with the calls comes back unchanged.
"""
_FIRST_TURN = "[The conversation begins with the assistant.]"
_LAST_TURN = "Continue."
_INSTRUCTIONS = ("system", "developer")
_RETURNED = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})
_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")
Block = dict[str, Any] | msgspec.Raw


class _ReturnedBlock(msgspec.Struct):
    type: str
    id: str = ""


class Conversation:
    """A conversation as the API expects it."""

    def __init__(self, messages: Sequence[Mapping[str, Any]]) -> None:
        self.turns: list[dict[str, Any]] = []
        self.called: dict[str, None] = {}
        """The names of the functions that were called, in order."""
        self._instructions: list[str] = []
        self._ids: dict[str, str] = {}
        self._used_ids: set[str] = set()
        self._repetitions: defaultdict[str, int] = defaultdict(lambda: 1)
        for message in messages:
            self._add(message)
        for turn in self.turns:
            if turn["role"] == "user":
                turn["content"].sort(key=lambda block: block["type"] != "tool_result")
        if not self.turns:
            raise InvalidRequestError(
                "The conversation contains no message for the model.",
                [Violation("messages", "contain no text, image or document of a user")],
            )
        if self.turns[0]["role"] == "assistant":
            self.turns.insert(0, {"role": "user", "content": [_text(_FIRST_TURN)]})
        if self.turns[-1]["role"] == "assistant":
            self.turns.append({"role": "user", "content": [_text(_LAST_TURN)]})

    @property
    def system(self) -> str:
        """The system prompt: all instructions, joined as Anthropic's own OpenAI API does."""
        return "\n".join(self._instructions)

    def _add(self, message: Mapping[str, Any]) -> None:
        content = message["content"]
        match message["role"]:
            case "assistant":
                self._append("assistant", self._assistant(message))
            case "tool":
                self._append("user", [self._result(message)])
            case role if role in _INSTRUCTIONS:
                self._instructions += map(_instruction, _blocks(content))
            case _:
                self._append("user", _blocks(content))

    def _append(self, role: str, blocks: Sequence[Block]) -> None:
        if not blocks:
            return
        if not self.turns or self.turns[-1]["role"] != role:
            self.turns.append({"role": role, "content": []})
        self.turns[-1]["content"] += blocks

    def _assistant(self, message: Mapping[str, Any]) -> Sequence[Block]:
        calls = message.get("tool_calls", ())
        ids = [self._new_id(call["id"]) for call in calls]
        self.called |= dict.fromkeys(call["function"]["name"] for call in calls)
        if returned := _returned(message.get(CONTENT), ids):
            return returned
        return [
            *_blocks(message["content"]),
            *(
                {
                    "type": "tool_use",
                    "id": call_id,
                    "name": call["function"]["name"],
                    "input": arguments_object(call["function"]["arguments"]),
                }
                for call, call_id in zip(calls, ids, strict=True)
            ),
        ]

    def _result(self, message: Mapping[str, Any]) -> Block:
        call_id = message.get("tool_call_id", "")
        result: dict[str, Any] = {
            "type": "tool_result",
            "tool_use_id": self._ids.get(call_id, call_id),
        }
        if blocks := _blocks(message["content"]):
            result["content"] = blocks
        return result

    def _new_id(self, call_id: str) -> str:
        """Return an identifier that the API accepts: other providers use other characters."""
        valid = unique = _NOT_IN_IDS.sub("_", call_id) or "call"
        while unique in self._used_ids:
            self._repetitions[valid] += 1
            unique = f"{valid}_{self._repetitions[valid]}"
        self._used_ids.add(unique)
        self._ids[call_id] = unique
        return unique


def _returned(content: msgspec.Raw | None, ids: Sequence[str]) -> Sequence[Block]:
    """Return the content of an earlier answer, unless it does not belong to the calls `ids`."""
    if content is None:
        return ()
    try:
        blocks = msgspec.json.decode(content, type=list[msgspec.Raw])
        read = [msgspec.json.decode(block, type=_ReturnedBlock) for block in blocks]
    except BAD_JSON:
        return ()
    belongs = [block.id for block in read if block.type == "tool_use"] == list(ids)
    return blocks if belongs and all(block.type in _RETURNED for block in read) else ()


def _blocks(content: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - text, parts, or nothing
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    return [block for part in parts if (block := _block(part)) is not None]


def _block(part: Any) -> dict[str, Any] | None:  # noqa: ANN401 - a part, or JSON text of a kind unknown to us
    match part:
        case {"type": "text", "text": text}:
            return _text(text) if text.strip() else None
        case {"type": "image_url", "image_url": {"url": url}}:
            return {"type": "image", "source": _source(url)}
        case {"type": "file", "file": {"file_data": url}} if url.startswith("data:application/pdf"):
            return {"type": "document", "source": _source(url)}
        case _:
            raise InvalidRequestError("Claude reads texts, images and PDF documents only.")


def _instruction(block: Mapping[str, Any]) -> str:
    if block["type"] != "text":
        raise InvalidRequestError("Instructions for Claude are texts only.")
    return str(block["text"])


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _source(url: str) -> dict[str, str]:
    if inline := inline_data(url):
        return {"type": "base64", "media_type": inline[0], "data": inline[1]}
    return {"type": "url", "url": url}
