"""The two models: the embedded one, and a scripted one."""

import json
import math
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.connector.v1 import connector_pb2 as pb
from heddle.connector.v1 import connector_pb2_grpc as pb_grpc
from heddle.orchestrator.v1 import orchestrator_pb2
from heddle_connector.app import ConnectorSettings
from heddle_connector.app import app as connectors
from heddle_orchestrator.agent.decision import Candidate
from heddle_orchestrator.agent.model_client import ModelClient
from heddle_orchestrator.agent.routers.tool_labels import labels_of
from heddle_orchestrator.agent.word_matching import words
from heddle_orchestrator.event_mapping import map_events
from heddle_orchestrator.functions.budget import Budget
from heddle_runtime.identity.call_metadata import Context, new_call_options
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.server import Binding, bind, running
from heddle_runtime.settings.service import ServiceSettings

from benchmarks.agent.questions import Labelled

if TYPE_CHECKING:
    from heddle.connector.v1.connector_pb2_grpc import ConnectorServiceAsyncStub

_CONTRACT = pb.DESCRIPTOR.services_by_name["ConnectorService"]
_SECONDS = 600.0  # a busy machine must not cause timeouts
EMBEDDED = assistant_pb2.ModelRef(connector="local", model="smollm2-135m-instruct")
SCRIPTED = assistant_pb2.ModelRef(connector="scripted", model="oracle")


@dataclass(frozen=True)
class LongRun:
    """The deadline of a run."""

    def time_remaining(self) -> float:
        """Return the remaining seconds."""
        return _SECONDS


def model_client(stub: "ConnectorServiceAsyncStub", model: assistant_pb2.ModelRef) -> ModelClient:
    """Return a client of a model that counts its tokens."""

    async def generate(
        request: pb.GenerateWholeMessageRequest,
    ) -> AsyncGenerator[list[orchestrator_pb2.RunEvent]]:
        response = await stub.GenerateWholeMessage(request, **new_call_options(_SECONDS))
        run = orchestrator_pb2.RunCompletionResponse()
        map_events(response.events[:], run.events)
        yield run.events[:]

    budget = Budget(rounds=1_000_000, seconds=1e9, tokens=10**12)
    return ModelClient(assistant_pb2.Assistant(model=model), LongRun(), generate, budget)


@asynccontextmanager
async def embedded() -> AsyncGenerator["ConnectorServiceAsyncStub"]:
    """Serve the connectors, the embedded model among them."""
    settings = ConnectorSettings(listen="127.0.0.1:0", drain_wait=0)
    async with (
        running(connectors(settings), settings) as service,
        channel(service.address, _CONTRACT) as connection,
    ):
        yield pb_grpc.ConnectorServiceStub(connection)


class Oracle(pb_grpc.ConnectorServiceServicer):
    """Knows the right tool of each question, but names another one for every tenth."""

    def __init__(self, questions: list[Labelled], tools: tuple[Candidate, ...]) -> None:
        self._labels = labels_of(tools)
        names = list(self._labels)
        self._right = {
            each.text: each.tool if number % 10 else names[(number // 10) % len(names)]
            for number, each in enumerate(questions)
        }

    async def GenerateWholeMessage(  # noqa: N802 - as in the contract
        self, request: pb.GenerateWholeMessageRequest, context: Context
    ) -> pb.GenerateWholeMessageResponse:
        """Answer in the requested form."""
        generation = request.generation
        text = "".join(part.text for part in generation.messages[-1].parts)
        known = [each for each in self._right if each in text]
        tool = self._right[max(known, key=len)] if known else ""
        events = list(self._answer(generation, text, tool))
        read = sum(len(words(part.text)) for turn in generation.messages for part in turn.parts)
        done = chat_pb2.Done(
            finish_reason=chat_pb2.FINISH_REASON_STOP,
            usage=chat_pb2.Usage(prompt_tokens=read, completion_tokens=1),
        )
        return pb.GenerateWholeMessageResponse(events=[*events, pb.GenerationEvent(done=done)])

    def _answer(
        self, generation: pb.GenerateMessageRequest, text: str, tool: str
    ) -> Iterator[pb.GenerationEvent]:
        extra = json.loads(generation.options.extra_json or "{}")
        if generation.functions:
            if tool in {each.name for each in generation.functions}:
                inputs = json.dumps({"query": text})
                call = chat_pb2.ToolCall(id="c", name=tool, arguments_json=inputs)
                yield pb.GenerationEvent(tool_call=call)
        elif "logprobs" in extra:
            label = self._labels.get(tool, "none")
            top = [{"token": label, "logprob": math.log(0.9)}]
            logprobs = json.dumps({"content": [{"token": label, "top_logprobs": top}]})
            yield pb.GenerationEvent(text_delta=label)
            yield pb.GenerationEvent(logprobs_json=logprobs)
        elif "response_format" in extra:
            yield pb.GenerationEvent(text_delta=json.dumps({"query": text}))
        else:
            answer = f"[[ ## tool ## ]]\n{tool or 'text_response'}\n\n[[ ## completed ## ]]"
            yield pb.GenerationEvent(text_delta=answer)


@asynccontextmanager
async def scripted(
    questions: list[Labelled], tools: tuple[Candidate, ...]
) -> AsyncGenerator["ConnectorServiceAsyncStub"]:
    """Serve the scripted model."""
    oracle = Oracle(questions, tools)  # type: ignore[abstract] # it implements what routers call

    @asynccontextmanager
    async def serve() -> AsyncGenerator[list[Binding]]:
        yield [bind(pb_grpc.add_ConnectorServiceServicer_to_server, oracle)]

    settings = ServiceSettings(listen="127.0.0.1:0", drain_wait=0)
    async with (
        running(serve(), settings) as service,
        channel(service.address, _CONTRACT) as connection,
    ):
        yield pb_grpc.ConnectorServiceStub(connection)
