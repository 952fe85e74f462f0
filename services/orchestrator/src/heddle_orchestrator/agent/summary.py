"""Shortening what was found."""

import json

import grpc
from heddle.chat.v1 import chat_pb2
from heddle_runtime.errors import HeddleError

from heddle_orchestrator.agent.assessing import SUMMARY_ABOVE
from heddle_orchestrator.agent.brief import passages, sources
from heddle_orchestrator.agent.decision import SUMMARIZE, Answer, Ask, Question, message
from heddle_orchestrator.agent.state import State

_TOKENS_PER_WORD = 2
_MOST_SOURCES = 200
_MOST_CHARS = SUMMARY_ABOVE // 2
"""Of a summary, whatever the model writes, and of what stays where it writes none."""


async def summarize(request: Ask, state: State, max_length: int, most_chars: int) -> str:
    """Put a summary in place of everything in the environment, and its sources with it.

    Args:
        request: Asks the model.
        state: Whose environment.
        max_length: Of the summary, in words.
        most_chars: The longest prompt.

    Returns:
        The summary. Where the model fails it is the beginning of each object.
    """
    environment = state.environment
    objects = environment.objects()
    cited = [source.told() for source in sources(objects)[:_MOST_SOURCES]]
    task = (
        f"Summarize the passages below in at most {max_length} words. Keep what answers this "
        f"question, with its numbers and names: {state.prompt}"
    )
    text = f"{passages(objects, most_chars)}\n\n{task}"
    question = Question(
        [message(chat_pb2.ROLE_USER, text)], max_tokens=max_length * _TOKENS_PER_WORD
    )
    try:
        answer = await request(question)
    except (HeddleError, grpc.aio.AioRpcError, TimeoutError):
        answer = Answer()
    said = " ".join(answer.text.split()[:max_length])
    kept = said[:_MOST_CHARS] or passages(objects, _MOST_CHARS)
    found = json.dumps({"summary": kept, "sources": cited}, ensure_ascii=False)
    environment.replace(SUMMARIZE, "summary", [found])
    state.summaries += 1
    return kept
