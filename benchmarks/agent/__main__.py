"""`python -m benchmarks.agent`: how well, how fast and for how many tokens the deciders choose."""

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle_orchestrator.agent.deciders import Deciders
from heddle_orchestrator.agent.decision import Candidate, Decision, UndecidedError, message
from heddle_orchestrator.agent.guard import RepeatGuard
from heddle_orchestrator.agent.policy import is_greeting, respond
from heddle_orchestrator.agent.rules import decided
from heddle_orchestrator.agent.state import State, begun
from heddle_orchestrator.agent.validation import checked

from benchmarks.agent import questions, tools
from benchmarks.agent.model import EMBEDDED, SCRIPTED, asking, embedded, scripted
from benchmarks.agent.questions import Labelled
from benchmarks.gateway.processes import REPOSITORY
from benchmarks.gateway.report import circumstances

if TYPE_CHECKING:
    from heddle.connector.v1.connector_pb2_grpc import ConnectorServiceAsyncStub

_RESULTS = REPOSITORY / "benchmarks/results/agent.json"
_DECIDERS = ("rules", "native", "label", "dspy")


@dataclass(frozen=True)
class Figures:
    """How one decider did with one model on one set of questions."""

    questions: str
    model: str
    decider: str
    asked: int
    right: int
    own: int
    """Right without the rules' help: what the decider itself chose."""
    arguments: int
    """Right tool and right inputs, where a question says what is right."""
    fell_back: int
    seconds: float
    """Of a decision, on average."""
    tokens: float
    """Read and written for a decision, on average."""
    wrong: tuple[str, ...]


async def measured(
    stub: "ConnectorServiceAsyncStub",
    model: assistant_pb2.ModelRef,
    decider: str,
    name: str,
    asked: Sequence[Labelled],
    offered: Sequence[Candidate],
) -> Figures:
    """Return how a decider does on questions, each the first of a run of its own."""
    chooser = Deciders(None).of(decider, model.connector)
    ask = asking(stub, model)
    right = own = arguments = fell_back = 0
    wrong = []
    began = time.perf_counter()
    for each in asked:
        state = begun([message(chat_pb2.ROLE_USER, each.text)])
        if is_greeting(each.text):
            made = respond("A greeting.")
        else:
            try:
                found = await chooser.decide(ask, state, offered)
                made = checked(found, offered, RepeatGuard(state))
            except UndecidedError as error:
                made = _ruled(state, offered, str(error))
            except Exception as error:  # noqa: BLE001 - as the loop does
                made = _ruled(state, offered, type(error).__name__)
        fell_back += bool(made.rejected)
        choice = made.choices[0]
        if choice.tool != each.tool:
            wrong.append(f"{each.text} -> {choice.tool}")
            continue
        right += 1
        own += not made.rejected
        arguments += all(
            str(choice.inputs.get(key, "")).casefold() == str(value).casefold()
            for key, value in each.arguments.items()
        )
    seconds = (time.perf_counter() - began) / len(asked)
    tokens = (ask.usage.prompt_tokens + ask.usage.completion_tokens) / len(asked)
    return Figures(
        name,
        f"{model.connector}/{model.model}",
        decider,
        len(asked),
        right,
        own,
        arguments,
        fell_back,
        round(seconds, 4),
        round(tokens, 1),
        tuple(wrong),
    )


def _ruled(state: State, offered: Sequence[Candidate], why: str) -> Decision:
    ruled = decided(state, offered)
    return Decision(ruled.choices, ruled.reason, ruled.decider, why)


async def main() -> None:
    """Measure what the command line asks for, print it and keep it."""
    parser = argparse.ArgumentParser("python -m benchmarks.agent", description=__doc__)
    parser.add_argument("--deciders", nargs="+", choices=_DECIDERS, default=_DECIDERS)
    parser.add_argument("--models", nargs="+", choices=("embedded", "scripted"), default=None)
    parser.add_argument("--every", type=int, default=1, help="ask each so-and-so-manieth [1]")
    given = parser.parse_args()
    routing, three = questions.ROUTING[:: given.every], questions.THREE[:: given.every]
    models = given.models or ("embedded", "scripted")
    found: list[Figures] = []
    if "scripted" in models:
        async with scripted(list(routing), tools.SEARCHES) as stub:
            for decider in given.deciders:
                offered = [*tools.SEARCHES]
                done = await measured(stub, SCRIPTED, decider, "routing", routing, offered)
                found.append(done)
                _print(done)
    if "embedded" in models:
        async with embedded() as stub:
            for decider in given.deciders:
                for name, asked, offered in (
                    ("routing", routing, [*tools.SEARCHES]),
                    ("three tools", three, [*tools.THREE]),
                ):
                    done = await measured(stub, EMBEDDED, decider, name, asked, offered)
                    found.append(done)
                    _print(done)
    _RESULTS.parent.mkdir(parents=True, exist_ok=True)
    kept = circumstances(vars(given)) | {"figures": [asdict(each) for each in found]}
    _RESULTS.write_text(json.dumps(kept, indent=1, ensure_ascii=False))


def _print(done: Figures) -> None:
    print(
        f"{done.model:32} {done.questions:12} {done.decider:7} "
        f"right {done.right:3}/{done.asked}, by itself {done.own:3}, "
        f"with inputs {done.arguments:3}, fell back {done.fell_back:3}, "
        f"{done.seconds:7.3f} s, {done.tokens:7.1f} tokens",
        flush=True,
    )


if __name__ == "__main__":
    asyncio.run(main())
