"""The members of OpenAI's chat completions that Heddle reads. All others are skipped unparsed."""

from typing import Any

import msgspec


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


class Choice(msgspec.Struct, gc=False):
    """An answer, or a piece of one."""

    index: int | None = 0
    delta: Message | None = None
    message: Message | None = None
    finish_reason: str | None = None
    logprobs: msgspec.Raw = msgspec.Raw()


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


class Chunk(msgspec.Struct, gc=False):
    """A chunk of a streamed completion, or a whole one."""

    choices: list[Choice] | None = None
    usage: TokenUsage | None = None
    error: Any = None
    model: str | None = None
    id: str | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None


decode = msgspec.json.Decoder(Chunk).decode
