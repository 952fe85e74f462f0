"""Finds the faults of an assistant, and those that an edit introduces. Pure functions."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heddle.assistant.v1 import assistant_pb2
from heddle.connector.v1 import connector_pb2
from heddle.tool.v1 import tool_pb2
from heddle_runtime.contract.host_lists import host_problems
from heddle_runtime.contract.limits import (
    MAX_EMOJI_CHARACTERS,
    MAX_ICON_CHARACTERS,
    MAX_QUESTION_CHARACTERS,
    MAX_STARTER_QUESTIONS,
    MAX_TOOL_ROUNDS,
)
from heddle_runtime.contract.struct_codec import from_struct
from heddle_runtime.contract.validation import NOT_CHECKED, UNKNOWN_MEMBER
from heddle_runtime.errors import Violation

from heddle_orchestrator.agent.routers import dspy
from heddle_orchestrator.prompts import PROMPT_PROCESSORS
from heddle_orchestrator.strategies import STRATEGIES

REQUIRED = "is required"
_MAX_NAME = 80
_ICON = re.compile(
    rf"([^\x00-\x7f].{{0,{MAX_EMOJI_CHARACTERS - 1}}})?"
    r"|data:image/(png|jpeg|webp);base64,[A-Za-z0-9+/]+={0,2}"
)
_ICON_RULE = (
    f"must be an emoji, or a picture as a data: URL of PNG, JPEG or WebP with at most "
    f"{MAX_ICON_CHARACTERS:,} characters"
)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Installed:
    """The connectors, and the violations of bindings. None: the service cannot be reached."""

    connectors: Mapping[str, connector_pb2.Connector] | None
    """The connectors by name."""
    bindings: Mapping[bytes, Sequence[Violation]] | None
    """By `key_of`; the fields are `name`, `mode` or a path that begins with `config`."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of an assistant."""

    violation: Violation
    subject: str
    """The faulty value. An edit that does not change it does not introduce the fault."""


def tool_request(binding: assistant_pb2.ToolBinding) -> tool_pb2.ValidateToolConfigRequest:
    """Return the request to check a binding."""
    mode = binding.mode or assistant_pb2.MODE_AUGMENT
    known = mode in assistant_pb2.Mode.values()
    return tool_pb2.ValidateToolConfigRequest(
        name=binding.tool,
        config=binding.config,
        mode=mode if known else assistant_pb2.MODE_UNSPECIFIED,
    )


def key_of(request: tool_pb2.ValidateToolConfigRequest) -> bytes:
    """Return the same key for equal requests."""
    return request.SerializeToString(deterministic=True)


def compare(
    faults: Sequence[Fault], stored: Sequence[Fault]
) -> tuple[list[Violation], list[Violation]]:
    """Return the faults that an edit introduces, and those that were stored before.

    Args:
        faults: The faults of the assistant after the edit.
        stored: The faults of the assistant before the edit.
    """
    known = Counter(fault.subject for fault in stored)
    introduced: list[Violation] = []
    unchanged: list[Violation] = []
    for fault in faults:
        known[fault.subject] -= 1
        (unchanged if known[fault.subject] >= 0 else introduced).append(fault.violation)
    return introduced, unchanged


def faults_of(assistant: assistant_pb2.Assistant, installed: Installed) -> list[Fault]:
    """Return everything that is wrong with an assistant, as far as it can be checked."""
    faults = list(_of_model(assistant.model, installed.connectors))
    for field, known in (("strategy", STRATEGIES), ("prompt_processor", PROMPT_PROCESSORS)):
        name = getattr(assistant, field)
        if name and name not in known:
            faults.append(_fault(field, f"must be one of {', '.join(sorted(known))}", name))
    if not 0 <= assistant.max_tool_rounds <= MAX_TOOL_ROUNDS:
        limits = f"must be a whole number from 0 to {MAX_TOOL_ROUNDS}"
        faults.append(_fault("max_tool_rounds", limits, str(assistant.max_tool_rounds)))
    for entry, problem in host_problems(assistant.output_hosts):
        faults.append(_fault("output_hosts", problem, entry))
    faults += _of_presentation(assistant)
    for index, binding in enumerate(assistant.tools):
        faults += _of_binding(binding, f"tools[{index}]", installed)
    return faults


def _of_presentation(assistant: assistant_pb2.Assistant) -> Iterator[Fault]:
    icon, questions = assistant.icon, assistant.starter_questions
    if len(icon) > MAX_ICON_CHARACTERS or not _ICON.fullmatch(icon):
        yield _fault("icon", _ICON_RULE, icon)
    if len(questions) > MAX_STARTER_QUESTIONS:
        problem = f"must have at most {MAX_STARTER_QUESTIONS} items"
        yield _fault("starter_questions", problem, str(len(questions)))
    for index, question in enumerate(questions):
        if not question.strip() or len(question) > MAX_QUESTION_CHARACTERS:
            problem = f"must have 1 to {MAX_QUESTION_CHARACTERS} characters"
            yield _fault(f"starter_questions[{index}]", problem, question)


def unchecked(assistant: assistant_pb2.Assistant, installed: Installed) -> Iterator[Violation]:
    """Yield a warning for each part of an assistant that could not be checked."""
    if installed.connectors is None:
        problem = f"{NOT_CHECKED}: the connector service cannot be reached"
        yield Violation("assistant.model", problem)
    if installed.bindings is None and assistant.tools:
        problem = f"{NOT_CHECKED}: the tools service cannot be reached"
        yield Violation("assistant.tools", problem)


def idle_functions(assistant: assistant_pb2.Assistant, installed: Installed) -> Iterator[Violation]:
    """Yield a warning for each tool that the assistant's model can never call."""
    connector = (installed.connectors or {}).get(assistant.model.connector)
    if connector is None or connector.calls_functions:
        return
    problem = (
        f"{connector.name} does not call functions, so the tool is never used: choose another "
        "connector or another mode"
    )
    for index, binding in enumerate(assistant.tools):
        if binding.mode == assistant_pb2.MODE_FUNCTION:
            yield Violation(f"assistant.tools[{index}].mode", problem)


def missing_packages(assistant: assistant_pb2.Assistant) -> Iterator[Violation]:
    """Yield a warning if the strategy needs a package that is not installed."""
    strategy = STRATEGIES.get(assistant.strategy)
    if strategy is not None and strategy.router == dspy.DspyRouter.name and not dspy.is_installed():
        problem = f"{dspy.NOT_INSTALLED} Until then, rules choose the tools."
        yield Violation("assistant.strategy", problem)


def _of_model(
    model: assistant_pb2.ModelRef, connectors: Mapping[str, connector_pb2.Connector] | None
) -> Iterator[Fault]:
    missing = [name for name in ("connector", "model") if not getattr(model, name).strip()]
    yield from (_fault(f"model.{name}", REQUIRED, "") for name in missing)
    if connectors is None or "connector" in missing:
        return
    if model.connector not in connectors:
        names = ", ".join(sorted(connectors)) or "none"
        problem = f"No connector is named {_shown(model.connector)}. There are: {names}."
        yield _fault("model.connector", problem, model.connector)
        return
    models = connectors[model.connector].models
    if models and "model" not in missing and model.model not in models:
        problem = f"{model.connector} has no model {_shown(model.model)}, only {', '.join(models)}."
        yield _fault("model.model", problem, model.model)


def _of_binding(
    binding: assistant_pb2.ToolBinding, field: str, installed: Installed
) -> Iterator[Fault]:
    if not binding.tool.strip():
        yield _fault(f"{field}.tool", REQUIRED, "", "tool")
        return
    if binding.mode not in assistant_pb2.Mode.values():
        yield _fault(f"{field}.mode", UNKNOWN_MEMBER, str(binding.mode), binding.tool)
    if installed.bindings is None:
        return
    for violation in installed.bindings[key_of(tool_request(binding))]:
        match violation.field:
            case "name":
                path, value = "tool", binding.tool
            case "mode":
                path, value = "mode", assistant_pb2.Mode.Name(binding.mode)
            case path:
                value = _value_at(binding, path)
        subject = f"{binding.tool} {path}"
        yield _fault(f"{field}.{path}", violation.description, value, subject)


def _fault(field: str, description: str, value: str, subject: str = "") -> Fault:
    identity = json.dumps([subject or field, description, value])
    return Fault(Violation(f"assistant.{field}", description), identity)


def _value_at(binding: assistant_pb2.ToolBinding, path: str) -> str:
    """Return the JSON text of the value at a path that begins with `config`.

    If there is no value, for example because an option is missing, it is the text of `null`.
    """
    try:
        value: Any = from_struct(binding.config)
    except ValueError:  # a number that JSON does not have
        return "?"
    for name, index in _STEP.findall(path.removeprefix("config")):
        try:
            value = value[name] if name else value[int(index)]
        except (KeyError, IndexError, TypeError):
            return "null"
    return json.dumps(value, sort_keys=True)


def _shown(name: str) -> str:
    return repr(name[:_MAX_NAME])
