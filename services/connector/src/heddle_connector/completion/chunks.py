"""The members of OpenAI's chat completions that Heddle reads. All others are skipped unparsed."""

from typing import Any

import msgspec

from heddle_connector.http.tolerant_json import TolerantDecoder, as_text


class FunctionPart(msgspec.Struct, gc=False):
    """A function call, or a piece of one."""

    name: str | None = None
    arguments: msgspec.Raw = msgspec.Raw()
    """A JSON string according to OpenAI; some providers send the object itself."""


class CallPart(msgspec.Struct, gc=False):
    """A tool call, or a piece of one."""

    index: int | None = None
    id: str | None = None
    function: FunctionPart | None = None


class Message(msgspec.Struct, gc=False):
    """A message, or a piece of one."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[CallPart] | None = None
    function_call: FunctionPart | None = None

    @staticmethod
    def prepare(value: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
        """Return the members of a message: its text alone, or content with parts of reasoning."""
        if not isinstance(value, dict):
            return {"content": value}
        content = value.get("content")
        parts = content if isinstance(content, list) else []
        thoughts = [part for part in parts if _is_thought(part)]
        if not thoughts:
            return value
        texts = [part for part in parts if part not in thoughts]
        return {**value, "content": texts, "reasoning_content": as_text(thoughts)}


class PromptDetails(msgspec.Struct, gc=False):
    """Details of the prompt tokens."""

    cached_tokens: int | None = None


class CompletionDetails(msgspec.Struct, gc=False):
    """Details of the completion tokens."""

    reasoning_tokens: int | None = None


class TokenUsage(msgspec.Struct, gc=False):
    """The tokens that a completion used."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: PromptDetails | None = None
    completion_tokens_details: CompletionDetails | None = None


class Choice(msgspec.Struct, gc=False):
    """An answer, or a piece of one."""

    index: int | None = 0
    delta: Message | None = None
    message: Message | None = None
    text: str | None = None
    """The text, from servers that answer in the format before chat completions."""
    finish_reason: str | None = None
    logprobs: msgspec.Raw = msgspec.Raw()
    usage: TokenUsage | None = None
    error: Any = None


class GroqMembers(msgspec.Struct, gc=False):
    """Groq's own members."""

    usage: TokenUsage | None = None


class Chunk(msgspec.Struct, gc=False):
    """A chunk of a streamed completion, or a whole one."""

    choices: list[Choice] | None = None
    usage: TokenUsage | None = None
    x_groq: GroqMembers | None = None
    error: Any = None
    object: str | None = None
    model: str | None = None
    id: str | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None


decode = TolerantDecoder(Chunk).decode


def _is_thought(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") in ("thinking", "reasoning")
