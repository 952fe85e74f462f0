"""A tool service and a connector that speak the real contract and do what a test says."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.connector.v1 import connector_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.tool.v1 import tool_pb2
from heddle_runtime.errors import HeddleError, ToolFailedError, to_status
from heddle_runtime.server_interceptor import Context
from orchestrator.bench import Bench, Connector, Tools, ask, assistant, done, orchestrating, text

Objects = Sequence[Mapping[str, Any]]
Outcome = Objects | HeddleError
QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
SEARCHES = ("fast_vector_search", "hybrid_search", "colqwen_search", "visual_interpretation")

FAST = "fast_vector_search"
VOLTAGE = {"page": 12, "manual": "S-130", "text": "x" * 500}


@dataclass
class Shelf(Tools):
    """Tools of the agent."""

    finds: Mapping[str, Outcome] = field(default_factory=dict)
    """What tools find, or how they fail; those that are not named find nothing."""
    outcome: Callable[[str, Mapping[str, Any], tool_pb2.RunContext], Outcome] | None = None
    """The same, where it depends."""
    hindrance: Callable[[str, tool_pb2.TreeData], str] | None = None
    """Why a tool cannot be chosen; empty if it can."""
    trigger: Callable[[str, tool_pb2.TreeData], tool_pb2.Trigger | None] | None = None
    ends: Sequence[str] = ()
    schemas: Mapping[str, Any] = field(default_factory=dict)
    examples: Mapping[str, Sequence[tuple[str, Mapping[str, Any]]]] = field(default_factory=dict)
    deaf: Sequence[str] = ()
    """Tools that cannot be asked whether they are available."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Of results, by tool."""
    functions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The functions of tools that have several."""
    ran: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    near: Mapping[str, float] = field(default_factory=dict)
    """The affinities of tools, told when somebody asks for them."""
    compared: list[bool] = field(default_factory=list)
    """For each assessment, whether somebody did."""
    trees: list[tool_pb2.TreeData] = field(default_factory=list)
    """The states in which it was asked what can be chosen."""

    async def AssessTools(
        self, request: tool_pb2.AssessToolsRequest, context: Context
    ) -> tool_pb2.AssessToolsResponse:
        tree = request.context.tree
        self.trees.append(tree)
        self.compared.append(request.compare)
        told = [
            self._assessed(each, tree, function)
            for each in request.invocations
            for function in self.functions.get(each.name, [each.name])
        ]
        for each in told if request.compare else ():
            if each.function.name in self.near:
                each.affinity = self.near[each.function.name]
        return tool_pb2.AssessToolsResponse(assessments=told)

    def _assessed(
        self, asked: tool_pb2.ToolInvocation, tree: tool_pb2.TreeData, function: str
    ) -> tool_pb2.Assessment:
        if asked.name in self.deaf:
            error = to_status(ToolFailedError("It is deaf."))
            return tool_pb2.Assessment(id=asked.id, error=error)
        reason = self.hindrance(asked.name, tree) if self.hindrance else ""
        return tool_pb2.Assessment(
            id=asked.id,
            available=not reason,
            reason=reason,
            function=chat_pb2.FunctionDeclaration(
                name=function,
                description=f"Is the {function}.",
                parameters_schema_json=json.dumps(self.schemas.get(asked.name, QUERY)),
            ),
            examples=[
                tool_pb2.ToolExample(request=said, arguments_json=json.dumps(inputs))
                for said, inputs in self.examples.get(asked.name, ())
            ],
            end=asked.name in self.ends,
            trigger=self.trigger(asked.name, tree) if self.trigger and not reason else None,
        )

    async def ExecuteTools(
        self, request: tool_pb2.ExecuteToolsRequest, context: Context
    ) -> AsyncIterator[tool_pb2.ExecuteToolsResponse]:
        self.seen.append(request)
        yield tool_pb2.ExecuteToolsResponse(
            events=[self._ran(each, request.context) for each in request.invocations]
        )

    def _ran(
        self, asked: tool_pb2.ToolInvocation, context: tool_pb2.RunContext
    ) -> tool_pb2.ToolEvent:
        inputs = json.loads(asked.function_call.arguments_json or "{}")
        several = asked.name in self.functions
        self.ran.append((asked.function_call.name if several else asked.name, inputs))
        if self.outcome is not None:
            outcome = self.outcome(asked.name, inputs, context)
        else:
            outcome = self.finds.get(asked.name, [])
        if isinstance(outcome, HeddleError):
            return tool_pb2.ToolEvent(id=asked.id, error=to_status(outcome))
        found = [json.dumps(each) for each in outcome]
        result = tool_pb2.ToolResult(
            parts=[chat_pb2.ContentPart(text="\n".join(found))],
            objects_json=found,
            name=self.names.get(asked.name, asked.name),
            message=f"Found {len(found)}.",
        )
        return tool_pb2.ToolEvent(id=asked.id, result=result)


@dataclass
class Model(Connector):
    """A model that decides as a test says, and answers `Hello` when it is asked without tools."""

    decide: Callable[[connector_pb2.GenerateMessageRequest], Sequence[tuple[str, Any]]] | None = (
        None
    )
    """What it calls, with which inputs. None: nothing."""
    undecided: Exception | None = None
    """How it fails to decide."""
    tokens: int = 100
    """Of the prompt of a decision."""
    decisions: list[connector_pb2.GenerateMessageRequest] = field(default_factory=list)

    def _said(
        self, request: connector_pb2.GenerateMessageRequest
    ) -> Sequence[Sequence[connector_pb2.GenerationEvent]]:
        if not request.functions:
            return self.batches or [[text("Hello"), done()]]
        self.decisions.append(request)
        if self.undecided is not None:
            raise self.undecided
        calls = [
            chat_pb2.ToolCall(
                id=f"c{number}",
                name=name,
                arguments_json=inputs if isinstance(inputs, str) else json.dumps(inputs),
            )
            for number, (name, inputs) in enumerate(self.decide(request) if self.decide else ())
        ]
        events = [connector_pb2.GenerationEvent(tool_call=call) for call in calls]
        used = chat_pb2.Usage(prompt_tokens=self.tokens, completion_tokens=10)
        return [[*events, done(used)]]


@dataclass(frozen=True)
class Routed:
    """An orchestrator between the two."""

    bench: Bench
    shelf: Shelf
    model: Model

    async def run(
        self,
        prompt: str,
        *tools: str,
        router: str = "rules",
        rounds: int = 0,
        **more: Any,
    ) -> "Run":
        """Return a run with these tools, or those of the matrix."""
        asked = ask(routing(*(tools or SEARCHES), router=router, rounds=rounds), prompt)
        for name, value in more.items():
            setattr(asked, name, value)
        return Run(await self.bench.events(asked))


@dataclass(frozen=True)
class Run:
    """What happened."""

    events: Sequence[pb.RunEvent]

    @property
    def decisions(self) -> list[pb.Decision]:
        return [event.decision for event in self.events if event.HasField("decision")]

    @property
    def path(self) -> list[str]:
        """The tools that were chosen, `+` between those of one decision."""
        return ["+".join(each.tool for each in made.choices) for made in self.decisions]

    def outputs(self, kind: str) -> list[dict[str, Any]]:
        """Return the payloads of outputs of a type."""
        told = [event.output for event in self.events if event.HasField("output")]
        return [json.loads(each.payload_json) for each in told if each.type == kind]

    @property
    def response(self) -> dict[str, Any]:
        """The payload of the one response."""
        [found] = self.outputs("response")
        return found

    @property
    def text(self) -> str:
        return "".join(event.text_delta for event in self.events)


def routing(*tools: str, router: str = "rules", rounds: int = 0) -> assistant_pb2.Assistant:
    mode = assistant_pb2.MODE_AGENT
    made = assistant(
        *(assistant_pb2.ToolBinding(tool=name, mode=mode) for name in tools),
        strategy=f"agent_{router}" if router else "agent",
    )
    made.max_tool_rounds = rounds
    return made


@asynccontextmanager
async def routed(model: Model | None = None, **given: Any) -> AsyncGenerator[Routed]:
    """Run an orchestrator; `given` are settings."""
    shelf = Shelf()  # type: ignore[abstract] # it answers only what an orchestrator asks
    model = model or Model()  # type: ignore[abstract] # see above
    async with orchestrating(shelf, model, **given) as bench:
        yield Routed(bench, shelf, model)
