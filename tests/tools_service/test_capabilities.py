"""A new capability is one module and one registration."""

from dataclasses import dataclass

import pytest
from heddle_tools_service.definitions.capability_injection import Capabilities
from heddle_tools_service.definitions.checks import DefinitionError
from heddle_tools_service.installed.registry import Registry
from heddle_tools_service.sdk import Tool, ToolCall, ToolResult, tool
from heddle_tools_service.testing import run_tool
from tools_service.serving import said, serving, text_of


@dataclass(frozen=True)
class Dictionary:
    """The module of the new capability."""

    owner: str

    async def define(self, word: str) -> str:
        return f"{word}, says {self.owner}"


@tool("define", title="Define")
async def define(call: ToolCall[None], dictionary: Dictionary, limit: int = 3) -> ToolResult:
    """Defines."""
    return ToolResult(await dictionary.define(call.query[:limit]))


@tool("asking", title="Asking", modes=("augment", "function", "agent"))
async def asking(call: "ToolCall[None]", dictionary: "Dictionary") -> ToolResult:
    """Asks by an annotation that is text."""
    return ToolResult(await dictionary.define(call.mode))


def dictionary_of(call: ToolCall[None]) -> Dictionary:
    return Dictionary(call.assistant.owner or "nobody")


REGISTERED = Capabilities({Dictionary: dictionary_of})


@pytest.mark.parametrize("each", [define, asking], ids=lambda each: each.name)
async def test_a_registered_class_can_be_requested(each: Tool) -> None:
    Registry.of(each, capabilities=REGISTERED)
    outcome = await run_tool(each, query="sheds", capabilities={Dictionary: Dictionary("Ana")})
    assert outcome.result.text in ("she, says Ana", "augment, says Ana")


async def test_the_provider_gets_the_call_and_runs_once_for_each() -> None:
    owners: list[str] = []

    def provide(call: ToolCall[None]) -> Dictionary:
        owners.append(call.assistant.owner)
        return Dictionary(call.assistant.owner)

    capabilities = Capabilities({Dictionary: provide})
    async with serving(lambda _: Registry.of(define, capabilities=capabilities)) as client:
        for owner in ("ana", "ben"):
            _, result = await client.run("define", {}, said("shed", owner=owner))
            assert text_of(result) == f"she, says {owner}"

    assert owners == ["ana", "ben"]


async def test_callbacks_request_capabilities_too() -> None:
    async def available(_: ToolCall[None], dictionary: Dictionary) -> bool:
        return bool(await dictionary.define("x"))

    @tool("guarded", title="Guarded", available=available)
    async def guarded(_: object) -> ToolResult:
        """Does."""
        return ToolResult("")

    installed = Registry.of(guarded, capabilities=REGISTERED).get("guarded")
    assert installed.available is not None
    with pytest.raises(DefinitionError, match="of its available: its parameter 'dictionary'"):
        Registry.of(guarded)


def test_an_unregistered_class_is_refused_when_the_tool_is_loaded() -> None:
    with pytest.raises(DefinitionError) as refusal:
        Registry.of(define)

    assert str(refusal.value) == (
        "The tool 'define' is not valid: its parameter 'dictionary' requests 'Dictionary', "
        "which is not a capability: annotate it with a registered class (none), or remove it."
    )
