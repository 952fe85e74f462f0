"""The router `dspy`: a DSPy program chooses. DSPy is an optional extra, imported on first use."""

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from heddle.chat.v1 import chat_pb2
from heddle_runtime.identity.call_metadata import Caller, caller, calling_as

from heddle_orchestrator.agent.context_builder import progress
from heddle_orchestrator.agent.decision import (
    TEXT_RESPONSE,
    AskModel,
    Candidate,
    Choice,
    Decision,
    Question,
    UndecidedError,
    message,
)
from heddle_orchestrator.agent.routers.arguments import arguments_for
from heddle_orchestrator.agent.routers.rules import decide_by_rules
from heddle_orchestrator.agent.state import State

_PACKAGE = "dspy"
NOT_INSTALLED = "DSPy is not installed: install heddle-orchestrator[dspy]."
_MAX_PROGRESS_CHARS = 6_000
_MAX_TOKENS = 60
_NOTHING = "nothing yet"
_TASK = "Choose the tool that finds what the request asks for."
_ROLES = {"system": chat_pb2.ROLE_SYSTEM, "assistant": chat_pb2.ROLE_ASSISTANT}


@dataclass(eq=False, slots=True)
class DspyRouter:
    """A `Predict` over the names of the tools, with the tools' examples as its demonstrations."""

    name = "dspy"
    uses_affinity = False

    program: Path | None
    """A file that `Predict.save` wrote; None for the plain prompt."""

    async def decide(self, ask: AskModel, state: State, tools: Sequence[Candidate]) -> Decision:
        """Choose one tool by the program. If the results are enough, the rules end the run.

        Raises:
            UndecidedError: DSPy is not installed, or the model's answer names no tool.
        """
        by_rules = decide_by_rules(state, tools)
        if state.history and by_rules.ends:
            return by_rules
        dspy = await asyncio.to_thread(_dspy)  # the import takes more than a second
        names = [tool.name for tool in tools if tool.bound is not None or tool.end]
        predict = self._predictor(dspy, names, tools)
        fields = {
            "so_far": progress(state, _MAX_PROGRESS_CHARS) or _NOTHING,
            "request": state.prompt,
        }
        loop = asyncio.get_running_loop()
        with dspy.context(lm=_model(dspy, ask, loop), adapter=dspy.ChatAdapter()):
            # In a thread: the program calls its model synchronously, and that waits for this loop.
            prediction = await asyncio.to_thread(predict, **fields)
        tool = next((each for each in tools if each.name == prediction.tool), None)
        if tool is None:
            raise UndecidedError("The program chose a tool that is not available.")
        if tool.name == TEXT_RESPONSE:
            return Decision((Choice(TEXT_RESPONSE),), "The program would answer.", self.name)
        arguments = await arguments_for(ask, state, tool)
        return Decision((Choice(tool.name, arguments),), "The program chose it.", self.name)

    def _predictor(
        self,
        dspy: Any,  # noqa: ANN401 - see below
        names: Sequence[str],
        tools: Sequence[Candidate],
    ) -> Any:  # noqa: ANN401 - see below
        """Return the program with the available tools and its compiled examples of them."""
        predict = predictor(dspy, names)
        predict.demos = [
            dspy.Example(so_far=_NOTHING, request=request, tool=tool.name)
            for tool in tools
            for request, _ in tool.examples
        ]
        if self.program is not None:
            predict.load(str(self.program))
            predict.demos = [demo for demo in predict.demos if demo["tool"] in names]
        descriptions = "\n".join(f"{tool.name}: {tool.description}" for tool in tools)
        instructions = f"{predict.signature.instructions}\n\n{descriptions}"
        predict.signature = predict.signature.with_instructions(instructions)
        return predict


def predictor(dspy: Any, names: Sequence[str]) -> Any:  # noqa: ANN401 - DSPy is not there when types are checked
    """Return the program that chooses one of `names`, to be compiled and saved."""
    signature = dspy.Signature(
        {
            "so_far": (str, dspy.InputField(desc="what was tried and found")),
            "request": (str, dspy.InputField()),
            "tool": (Literal[tuple(names)], dspy.OutputField()),
        },
        _TASK,
    )
    return dspy.Predict(signature)


def is_installed() -> bool:
    """Return whether DSPy is installed."""
    return find_spec(_PACKAGE) is not None


def _dspy() -> Any:  # noqa: ANN401 - see above
    if not is_installed():
        raise UndecidedError(NOT_INSTALLED)
    # Without this, its first use fetches a list of prices from the internet.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "true")
    return import_module(_PACKAGE)


def _model(dspy: Any, ask: AskModel, loop: asyncio.AbstractEventLoop) -> Any:  # noqa: ANN401 - see above
    calling = caller()  # the program may call its model from any thread

    class Model(dspy.BaseLM):  # type: ignore[misc] # its base is known only when it is installed
        """Forwards prompts to the assistant's model."""

        def __call__(
            self,
            prompt: str | None = None,
            messages: Sequence[Mapping[str, Any]] | None = None,
            **_: object,
        ) -> list[str]:
            """Return the one answer to a prompt or a conversation."""
            conversation = messages or [{"role": "user", "content": prompt or ""}]
            question = Question(
                [
                    message(_ROLES.get(each["role"], chat_pb2.ROLE_USER), _text(each["content"]))
                    for each in conversation
                ],
                max_tokens=_MAX_TOKENS,
                temperature=0.0,
            )
            answer = asyncio.run_coroutine_threadsafe(_answer(ask, question, calling), loop)
            return [answer.result()]

    return Model(model="heddle")


async def _answer(ask: AskModel, question: Question, calling: Caller) -> str:
    with calling_as(calling):
        return (await ask(question)).text


def _text(content: object) -> str:
    return content if isinstance(content, str) else json.dumps(content)
