"""The checks that every tool must pass, Heddle's own tools included."""

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from unittest import SkipTest

import httpx
from heddle_runtime.contract.json_schema import Schema

from heddle_tools_service.contract.results import phrase, result
from heddle_tools_service.sdk import EarlierResult, Function, Tool
from heddle_tools_service.sdk.models import SCHEMA_DIALECT, Query, arguments_schema
from heddle_tools_service.testing.example_capabilities import (
    PAGE,
    REMOTE_TOOL,
    silent_capabilities,
)
from heddle_tools_service.testing.running import Outcome, run_tool

_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]{0,62}")
_SENTENCE = re.compile(r"[A-Z][^.\n]+\.")
_QUERY = {"query": "How wide is a shed?"}
_MESSAGES = (
    {"role": "user", "content": "What is a shed?"},
    {"role": "assistant", "content": "The gap."},
    {"role": "user", "content": "How wide is it?"},
)
_EARLIER = (EarlierResult("0", "colqwen_search", "context", f"Page 3 ({PAGE.picture_uri}): a"),)


@dataclass(frozen=True)
class Check:
    """A check. Call it: it raises `AssertionError` with the remedy."""

    name: str
    tool: Tool
    run: Callable[[], None]

    def __call__(self) -> None:
        """Run the check."""
        self.run()

    def __str__(self) -> str:
        """Return the tool's name and the check's."""
        return f"{self.tool.name}-{self.name}"


def conformance(tool: Tool, capabilities: Mapping[type, object] | None = None) -> list[Check]:
    """Return the checks of a tool.

    Args:
        tool: The tool.
        capabilities: Replace the examples that `example_capabilities` returns, by their class.
            Needed for a capability that Heddle does not register.
    """
    checks: dict[str, Callable[[], None]] = {
        "names": lambda: check_names(tool),
        "description": lambda: check_description(tool),
        "configuration": lambda: check_configuration(tool),
        "arguments": lambda: check_arguments(tool),
        "examples": lambda: check_examples(tool),
        "run": lambda: check_run(tool, capabilities or {}),
        "cancellation": lambda: check_cancellation(tool, capabilities or {}),
    }
    return [Check(name, tool, run) for name, run in checks.items()]


def check_names(tool: Tool) -> None:
    """Check that the names of the tool and of its slot are identifiers."""
    for name in (tool.name, tool.slot):
        assert _IDENTIFIER.fullmatch(name), f"{name!r}: use 1 to 63 of a-z, 0-9 and _"


def check_description(tool: Tool) -> None:
    """Check that the description is one sentence."""
    message = "write the first line of the function's docstring as one sentence"
    assert _SENTENCE.fullmatch(tool.description), f"{tool.description!r}: {message}"


def check_configuration(tool: Tool) -> None:
    """Check that the schema is valid, unknown options are refused, and each option is described."""
    assert tool.schema["$schema"] == SCHEMA_DIALECT
    _check_members(tool.schema)


def check_arguments(tool: Tool) -> None:
    """Check that unknown arguments are refused, and every argument has a description."""
    if tool.function is not None:
        _check_members(tool.function.schema)


def check_examples(tool: Tool) -> None:
    """Check that required options, and required arguments for models, have valid examples."""
    missing = sorted(set(tool.schema.get("required", ())) - example(tool.schema).keys())
    assert not missing, f"{missing}: give each Field(examples=[...])"
    errors = Schema(dict(tool.schema)).errors(example(tool.schema))
    assert errors == [], f"{errors}: correct the examples"
    if tool.function is not None and "augment" not in tool.modes:
        errors = Schema(tool.function.schema).errors(example_arguments(tool.function))
        assert errors == [], f"{errors}: give each Field(examples=[...])"


def check_run(tool: Tool, capabilities: Mapping[type, object]) -> None:
    """Check that the example runs, fits into a message, and reports short statuses."""
    try:
        outcome = asyncio.run(_run(tool, capabilities))
    except httpx.TransportError as error:
        raise SkipTest("the server of the example does not answer") from error
    message = result(tool.name, tool.slot, outcome.result, "", 0.1, for_agent=True)
    assert message.slot == tool.slot
    assert not message.warnings, list(message.warnings)
    for status in outcome.statuses:
        assert status == phrase(status), f"{status!r}: one line, no secrets, 300 characters"


def check_cancellation(tool: Tool, capabilities: Mapping[type, object]) -> None:
    """Check that the tool ends when it is cancelled."""
    if tool.blocking:
        raise SkipTest("a thread cannot be cancelled")
    asyncio.run(_cancel(tool, silent_capabilities(capabilities)))


async def _cancel(tool: Tool, capabilities: Mapping[type, object]) -> None:
    task = asyncio.create_task(_run(tool, capabilities))
    await asyncio.sleep(0.05)
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=1)
    assert done, "the tool does not end when it is cancelled: let asyncio.CancelledError pass"
    if not task.cancelled():
        task.exception()  # a tool may have ended, or failed, before


async def _run(tool: Tool, capabilities: Mapping[type, object]) -> Outcome:
    arguments: Mapping[str, Any] | None = None
    if tool.offer is not None:
        arguments = {}
    elif tool.function is not None and "augment" not in tool.modes:
        arguments = example_arguments(tool.function)
    return await run_tool(
        tool,
        example(tool.schema),
        arguments,
        messages=_MESSAGES,
        earlier=_EARLIER,
        function=REMOTE_TOOL.name if tool.offer is not None else "",
        capabilities=capabilities,
    )


def example(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first example of each property of a schema that has examples."""
    properties = schema.get("properties", {})
    return {name: each["examples"][0] for name, each in properties.items() if "examples" in each}


def example_arguments(function: Function) -> dict[str, Any]:
    """Return the arguments of a call that the examples of the arguments form."""
    if function.schema == arguments_schema(Query):
        return dict(_QUERY)
    return example(function.schema)


def _check_members(schema: dict[str, Any]) -> None:
    Schema(schema)
    assert schema["additionalProperties"] is False
    missing = [name for name, each in schema["properties"].items() if not each.get("description")]
    assert not missing, f"{missing}: give each Field(description=...)"
