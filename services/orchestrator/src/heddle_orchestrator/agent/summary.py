"""Replaces the results of a run with a summary."""

import json
from itertools import accumulate
from typing import Any

import grpc
from heddle.chat.v1 import chat_pb2
from heddle_runtime.errors import HeddleError

from heddle_orchestrator.agent.availability import SUMMARY_THRESHOLD_TOKENS
from heddle_orchestrator.agent.context_builder import passages, sources
from heddle_orchestrator.agent.decision import SUMMARIZE, Answer, AskModel, Question, message
from heddle_orchestrator.agent.state import State

_TOKENS_PER_WORD = 2
_MAX_SOURCES = 200
_MAX_SOURCES_BYTES = 40_000
"""Summary and sources together stay below the size that calls for a summary."""
_MAX_CHARS = SUMMARY_THRESHOLD_TOKENS // 2
"""The limit of a summary, and of the passages that replace it if the model fails."""


async def summarize(ask: AskModel, state: State, max_words: int, max_prompt_chars: int) -> str:
    """Replace everything in the environment with a summary and its sources.

    Args:
        ask: Asks the model.
        state: The environment's run.
        max_words: The longest summary.
        max_prompt_chars: The longest prompt.

    Returns:
        The summary. If the model fails, the beginning of each object.
    """
    environment = state.environment
    objects = environment.objects()
    citations = _first([source.to_frontend() for source in sources(objects)[:_MAX_SOURCES]])
    task = (
        f"Summarize the passages below in at most {max_words} words. Keep what answers this "
        f"question, with its numbers and names: {state.prompt}"
    )
    text = f"{passages(objects, max_prompt_chars)}\n\n{task}"
    question = Question(
        [message(chat_pb2.ROLE_USER, text)], max_tokens=max_words * _TOKENS_PER_WORD
    )
    try:
        answer = await ask(question)
    except (HeddleError, grpc.aio.AioRpcError, TimeoutError):
        answer = Answer()
    summary = " ".join(answer.text.split()[:max_words])[:_MAX_CHARS]
    summary = summary or passages(objects, _MAX_CHARS)
    document = json.dumps({"summary": summary, "sources": citations}, ensure_ascii=False)
    environment.replace(SUMMARIZE, "summary", [document])
    state.summaries += 1
    return summary


def _first(citations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    sizes = accumulate(len(json.dumps(each, ensure_ascii=False).encode()) for each in citations)
    return [each for each, size in zip(citations, sizes, strict=True) if size <= _MAX_SOURCES_BYTES]
