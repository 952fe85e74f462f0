"""Asks the assistant's model for decisions and summaries, within the budget of the run."""

import asyncio
import json
from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass, field

from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.connector.v1 import connector_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.identity.call_metadata import Context, remaining

from heddle_orchestrator.agent.decision import Answer, Question
from heddle_orchestrator.functions import Generate
from heddle_orchestrator.functions.budget import Budget, add_usage

_TIME_SHARE = 3
"""A question may take one third of the time that is left."""


@dataclass(slots=True)
class ModelClient:
    """The model of one assistant in one run."""

    assistant: assistant_pb2.Assistant
    context: Context
    generate: Generate
    budget: Budget
    usage: chat_pb2.Usage = field(default_factory=chat_pb2.Usage)
    """The usage of all questions together."""

    async def __call__(self, question: Question) -> Answer:
        """Send a question.

        Raises:
            TimeoutError: The model takes too long.
        """
        request = connector_pb2.GenerateWholeMessageRequest()
        generation = request.generation
        generation.model.CopyFrom(self.assistant.model)
        generation.assistant.CopyFrom(self.assistant)
        generation.messages.extend(question.messages)
        generation.functions.extend(question.functions)
        options = generation.options
        if question.max_tokens is not None:
            options.max_tokens = question.max_tokens
        if question.temperature is not None:
            options.temperature = question.temperature
        if question.extra:
            options.extra_json = json.dumps(question.extra, ensure_ascii=False)
        async with (
            asyncio.timeout(remaining(self.context) / _TIME_SHARE),
            aclosing(self.generate(request)) as batches,
        ):
            return self._answer([event async for events in batches for event in events])

    def _answer(self, events: Iterable[pb.RunEvent]) -> Answer:
        texts, calls, logprobs = [], [], ""
        for event in events:
            match event.WhichOneof("event"):
                case "text_delta":
                    texts.append(event.text_delta)
                case "tool_call":
                    calls.append(event.tool_call)
                case "logprobs_json":
                    logprobs = logprobs or event.logprobs_json
                case "done" if event.done.HasField("usage"):
                    self.budget.take_tokens(event.done.usage)
                    add_usage(self.usage, event.done.usage)
                case _:
                    continue
        return Answer("".join(texts), calls, logprobs)
