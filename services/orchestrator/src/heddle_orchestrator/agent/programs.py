"""Deciding by a DSPy program. DSPy is an optional extra: nothing is imported before it is asked."""

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from heddle.chat.v1 import chat_pb2

from heddle_orchestrator.agent.brief import progress
from heddle_orchestrator.agent.decision import (
    TEXT_RESPONSE,
    Ask,
    Candidate,
    Choice,
    Decision,
    Question,
    UndecidedError,
    message,
)
from heddle_orchestrator.agent.inputs import filled_in
from heddle_orchestrator.agent.rules import decided
from heddle_orchestrator.agent.state import State

_PACKAGE = "dspy"
_MISSING = "DSPy is not installed: install heddle-orchestrator[dspy]."
_MOST_CHARS = 6_000
_MOST_TOKENS = 60
_NOTHING = "nothing yet"
_TASK = "Choose the tool that finds what the request asks for."
_ROLES = {"system": chat_pb2.ROLE_SYSTEM, "assistant": chat_pb2.ROLE_ASSISTANT}


class Dspy:
    """A `Predict` over the names of the tools, with the tools' examples as its demonstrations."""

    name = "dspy"
    compares = False

    def __init__(self, program: Path | None) -> None:
        """Make a decider.

        Args:
            program: What `Predict.save` wrote; None for the plain prompt.
        """
        self._program = program

    async def decide(self, request: Ask, state: State, tools: Sequence[Candidate]) -> Decision:
        """Choose one tool by the program; when enough was found, the rules end the run.

        Raises:
            UndecidedError: DSPy is not installed, or the model answers nonsense.
        """
        ruled = decided(state, tools)
        if state.history and ruled.ends:
            return ruled
        dspy = await asyncio.to_thread(_dspy)  # importing takes more than a second
        names = [tool.name for tool in tools if tool.bound is not None or tool.end]
        predict = self._predictor(dspy, names, tools)
        given = {"so_far": progress(state, _MOST_CHARS) or _NOTHING, "request": state.prompt}
        loop = asyncio.get_running_loop()
        with dspy.context(lm=_model(dspy, request, loop), adapter=dspy.ChatAdapter()):
            # In a thread: the program calls its model synchronously, and that waits for this loop.
            found = await asyncio.to_thread(predict, **given)
        chosen = next((tool for tool in tools if tool.name == found.tool), None)
        if chosen is None:
            raise UndecidedError("The program chose no tool that is there.")
        if chosen.name == TEXT_RESPONSE:
            return Decision((Choice(TEXT_RESPONSE),), "The program would answer.", self.name)
        inputs = await filled_in(request, state.prompt, chosen)
        return Decision((Choice(chosen.name, inputs),), "The program chose it.", self.name)

    def _predictor(
        self,
        dspy: Any,  # noqa: ANN401 - see below
        names: Sequence[str],
        tools: Sequence[Candidate],
    ) -> Any:  # noqa: ANN401 - see below
        """Return the program with the tools of now, and what it learned of those names."""
        predict = predictor(dspy, names)
        predict.demos = _demos(dspy, tools)
        if self._program is not None:
            predict.load(str(self._program))
            predict.demos = [shown for shown in predict.demos if shown["tool"] in names]
        listed = "\n".join(f"{tool.name}: {tool.description}" for tool in tools)
        told = f"{predict.signature.instructions}\n\n{listed}"
        predict.signature = predict.signature.with_instructions(told)
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


def _dspy() -> Any:  # noqa: ANN401 - see above
    if find_spec(_PACKAGE) is None:
        raise UndecidedError(_MISSING)
    # Else its first use fetches a list of prices from the internet.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "true")
    return import_module(_PACKAGE)


def _demos(dspy: Any, tools: Sequence[Candidate]) -> list[Any]:  # noqa: ANN401 - see above
    return [
        dspy.Example(so_far=_NOTHING, request=asked, tool=tool.name)
        for tool in tools
        for asked, _ in tool.examples
    ]


def _model(dspy: Any, request: Ask, loop: asyncio.AbstractEventLoop) -> Any:  # noqa: ANN401 - see above
    """Return the assistant's model as DSPy knows models, asked through the connector."""

    class Model(dspy.BaseLM):  # type: ignore[misc] # its base is known only when it is installed
        """Hands prompts on."""

        def __call__(
            self,
            prompt: str | None = None,
            messages: Sequence[Mapping[str, Any]] | None = None,
            **_: object,
        ) -> list[str]:
            """Return the one answer to a prompt or a conversation."""
            turns = messages or [{"role": "user", "content": prompt or ""}]
            question = Question(
                [
                    message(_ROLES.get(turn["role"], chat_pb2.ROLE_USER), _said(turn["content"]))
                    for turn in turns
                ],
                max_tokens=_MOST_TOKENS,
                temperature=0.0,
            )
            return [asyncio.run_coroutine_threadsafe(_text(request, question), loop).result()]

    return Model(model="heddle")


async def _text(request: Ask, question: Question) -> str:
    return (await request(question)).text


def _said(content: object) -> str:
    return content if isinstance(content, str) else json.dumps(content)
