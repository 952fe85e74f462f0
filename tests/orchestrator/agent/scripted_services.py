"""A tools service and a connector for agents, scripted by tests."""

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
from heddle_runtime.identity.call_metadata import Context
from orchestrator.harness import (
    Connector,
    Harness,
    Tools,
    ask,
    assistant,
    done,
    orchestrating,
    text,
)

Objects = Sequence[Mapping[str, Any]]
Outcome = Objects | HeddleError
QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
SEARCHES = ("fast_vector_search", "hybrid_search", "colqwen_search", "visual_interpretation")

FAST = "fast_vector_search"
VOLTAGE = {"page": 12, "manual": "S-130", "text": "x" * 500}


@dataclass
class ToolServer(Tools):
    """Tools of the agent."""

    finds: Mapping[str, Outcome] = field(default_factory=dict)
    """The results or errors of tools. Other tools return no objects."""
    outcome: Callable[[str, Mapping[str, Any], tool_pb2.RunContext], Outcome] | None = None
    """The same as a function."""
    hindrance: Callable[[str, tool_pb2.TreeData], str] | None = None
    """Why a tool is not available; empty if it is."""
    trigger: Callable[[str, tool_pb2.TreeData], tool_pb2.Trigger | None] | None = None
    ends: Sequence[str] = ()
    schemas: Mapping[str, Any] = field(default_factory=dict)
    examples: Mapping[str, Sequence[tuple[str, Mapping[str, Any]]]] = field(default_factory=dict)
    deaf: Sequence[str] = ()
    """Tools whose availability check fails."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Of results, by tool."""
    functions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The functions of tools that have several."""
    ran: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    near: Mapping[str, float] = field(default_factory=dict)
    """The affinities of tools, returned on request."""
    compared: list[bool] = field(default_factory=list)
    """For each assessment, whether affinities were requested."""
    trees: list[tool_pb2.TreeData] = field(default_factory=list)
    """The states of all assessments."""

    async def AssessTools(
        self, request: tool_pb2.AssessToolsRequest, context: Context
    ) -> tool_pb2.AssessToolsResponse:
        tree = request.context.tree
        self.trees.append(tree)
        self.compared.append(request.compare)
        assessments = [
            self._assessed(each, tree, function)
            for each in request.invocations
            for function in self.functions.get(each.name, [each.name])
        ]
        for each in assessments if request.compare else ():
            if each.function.name in self.near:
                each.affinity = self.near[each.function.name]
        return tool_pb2.AssessToolsResponse(assessments=assessments)

    def _assessed(
        self, invocation: tool_pb2.ToolInvocation, tree: tool_pb2.TreeData, function: str
    ) -> tool_pb2.Assessment:
        if invocation.name in self.deaf:
            error = to_status(ToolFailedError("It is deaf."))
            return tool_pb2.Assessment(id=invocation.id, error=error)
        reason = self.hindrance(invocation.name, tree) if self.hindrance else ""
        return tool_pb2.Assessment(
            id=invocation.id,
            available=not reason,
            policy=invocation.on_change or assistant_pb2.CHANGE_POLICY_RUN,
            reason=reason,
            function=chat_pb2.FunctionDeclaration(
                name=function,
                description=f"Is the {function}.",
                parameters_schema_json=json.dumps(self.schemas.get(invocation.name, QUERY)),
            ),
            examples=[
                tool_pb2.ToolExample(request=example, arguments_json=json.dumps(inputs))
                for example, inputs in self.examples.get(invocation.name, ())
            ],
            end=invocation.name in self.ends,
            trigger=self.trigger(invocation.name, tree) if self.trigger and not reason else None,
        )

    async def ExecuteTools(
        self, request: tool_pb2.ExecuteToolsRequest, context: Context
    ) -> AsyncIterator[tool_pb2.ExecuteToolsResponse]:
        self.seen.append(request)
        yield tool_pb2.ExecuteToolsResponse(
            events=[self._ran(each, request.context) for each in request.invocations]
        )

    def _ran(
        self, invocation: tool_pb2.ToolInvocation, context: tool_pb2.RunContext
    ) -> tool_pb2.ToolEvent:
        inputs = json.loads(invocation.function_call.arguments_json or "{}")
        several = invocation.name in self.functions
        self.ran.append((invocation.function_call.name if several else invocation.name, inputs))
        if self.outcome is not None:
            outcome = self.outcome(invocation.name, inputs, context)
        else:
            outcome = self.finds.get(invocation.name, [])
        if isinstance(outcome, HeddleError):
            return tool_pb2.ToolEvent(id=invocation.id, error=to_status(outcome))
        objects = [json.dumps(each) for each in outcome]
        result = tool_pb2.ToolResult(
            parts=[chat_pb2.ContentPart(text="\n".join(objects))],
            objects_json=objects,
            name=self.names.get(invocation.name, invocation.name),
            message=f"Found {len(objects)}.",
        )
        return tool_pb2.ToolEvent(id=invocation.id, result=result)


@dataclass
class Model(Connector):
    """A model that decides as a test says, and answers `Hello` to requests without tools."""

    decide: Callable[[connector_pb2.GenerateMessageRequest], Sequence[tuple[str, Any]]] | None = (
        None
    )
    """Its calls with their inputs. None: no calls."""
    undecided: Exception | None = None
    """The error of its decisions."""
    tokens: int = 100
    """Of the prompt of a decision."""
    decisions: list[connector_pb2.GenerateMessageRequest] = field(default_factory=list)

    def _answer(
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
class Agent:
    """An orchestrator between the two."""

    harness: Harness
    tools: ToolServer
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
        request = ask(routing(*(tools or SEARCHES), router=router, rounds=rounds), prompt)
        for name, value in more.items():
            setattr(request, name, value)
        return Run(await self.harness.events(request))


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
        return ["+".join(each.tool for each in decision.choices) for decision in self.decisions]

    def outputs(self, kind: str) -> list[dict[str, Any]]:
        """Return the payloads of outputs of a type."""
        outputs = [event.output for event in self.events if event.HasField("output")]
        return [json.loads(each.payload_json) for each in outputs if each.type == kind]

    @property
    def response(self) -> dict[str, Any]:
        """The payload of the one response."""
        [response] = self.outputs("response")
        return response

    @property
    def text(self) -> str:
        return "".join(event.text_delta for event in self.events)


def routing(*tools: str, router: str = "rules", rounds: int = 0) -> assistant_pb2.Assistant:
    mode = assistant_pb2.MODE_AGENT
    created = assistant(
        *(assistant_pb2.ToolBinding(tool=name, mode=mode) for name in tools),
        strategy=f"agent_{router}" if router else "agent",
    )
    created.max_tool_rounds = rounds
    return created


@asynccontextmanager
async def routed(model: Model | None = None, **settings_: Any) -> AsyncGenerator[Agent]:
    """Run an orchestrator; `given` are settings."""
    tools = ToolServer()  # type: ignore[abstract] # it answers only what an orchestrator asks
    model = model or Model()  # type: ignore[abstract] # see above
    async with orchestrating(tools, model, **settings_) as harness:
        yield Agent(harness, tools, model)
