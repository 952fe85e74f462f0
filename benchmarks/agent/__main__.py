"""`python -m benchmarks.agent`: how well, how fast and for how many tokens the deciders choose."""

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle_orchestrator.agent.decision import Candidate, Decision, UndecidedError, message
from heddle_orchestrator.agent.policy import is_greeting, respond
from heddle_orchestrator.agent.repeat_detection import RepeatDetector
from heddle_orchestrator.agent.routers.registry import Routers
from heddle_orchestrator.agent.routers.rules import decide_by_rules
from heddle_orchestrator.agent.state import State, initial_state
from heddle_orchestrator.agent.validation import validated
from heddle_tools_service.semantic_similarity import SemanticSimilarity

from benchmarks.agent import questions, tools
from benchmarks.agent.comparing import compared
from benchmarks.agent.model import EMBEDDED, SCRIPTED, asking, embedded, scripted
from benchmarks.agent.sets import FOLDER, QuestionSet, is_right, question_sets
from benchmarks.gateway.processes import REPOSITORY
from benchmarks.gateway.report import circumstances

if TYPE_CHECKING:
    from heddle.connector.v1.connector_pb2_grpc import ConnectorServiceAsyncStub

_RESULTS = REPOSITORY / "benchmarks/results/agent.json"
_DECIDERS = ("rules", "native", "label", "dspy")
_DEAR = ("native", "dspy")
_FOR_ALL = ("routing", "three tools")
"""The sets that those are asked, too, which take the embedded model two seconds a decision."""


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
    """Right tool and nothing but right inputs, where a question says what is right."""
    fell_back: int
    seconds: float
    """Of a decision, on average."""
    cpu_seconds: float
    """The same of this process's processors, where the embedded models work, too."""
    tokens: float
    """Read and written for a decision, on average."""
    wrong: tuple[str, ...]


async def measured(
    stub: "ConnectorServiceAsyncStub",
    model: assistant_pb2.ModelRef,
    decider: str,
    asked: QuestionSet,
    similarity: SemanticSimilarity | None,
) -> Figures:
    """Return how a decider does on questions, each the first of a run of its own.

    Args:
        stub: The connectors.
        model: Who is asked.
        decider: Who decides.
        asked: The tools and the questions.
        similarity: Compares requests with tools, for deciders that want it; None leaves it out.
    """
    chooser = Routers(None).get(decider, model.connector)
    ask = asking(stub, model)
    right = own = arguments = fell_back = 0
    wrong = []
    began, worked = time.perf_counter(), time.process_time()
    for each in asked.questions:
        state = initial_state([message(chat_pb2.ROLE_USER, each.text)])
        offered = asked.tools
        if is_greeting(each.text):
            made = respond("A greeting.")
        else:
            try:
                if chooser.uses_affinity and similarity is not None:
                    offered = await compared(similarity, each.text, offered)
                found = await chooser.decide(ask, state, offered)
                made = validated(found, offered, RepeatDetector(state))
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
        known = {tool.name: tool for tool in offered}
        if not each.arguments or is_right(choice.inputs, each.arguments, known[choice.tool]):
            arguments += 1
        else:
            wrong.append(f"{each.text} -> {choice.tool}({json.dumps(dict(choice.inputs))})")
    count = len(asked.questions)
    seconds = (time.perf_counter() - began) / count
    cpu_seconds = (time.process_time() - worked) / count
    tokens = (ask.usage.prompt_tokens + ask.usage.completion_tokens) / count
    return Figures(
        asked.name,
        f"{model.connector}/{model.model}",
        decider,
        count,
        right,
        own,
        arguments,
        fell_back,
        round(seconds, 4),
        round(cpu_seconds, 4),
        round(tokens, 1),
        tuple(wrong),
    )


def _ruled(state: State, offered: Sequence[Candidate], why: str) -> Decision:
    ruled = decide_by_rules(state, offered)
    return Decision(ruled.choices, ruled.reason, ruled.router, why)


async def main() -> None:
    """Measure what the command line asks for, print it and keep it."""
    parser = argparse.ArgumentParser("python -m benchmarks.agent", description=__doc__)
    parser.add_argument("--deciders", nargs="+", choices=_DECIDERS, default=_DECIDERS)
    parser.add_argument("--models", nargs="+", choices=("embedded", "scripted"), default=None)
    parser.add_argument("--every", type=int, default=1, help="ask each so-and-so-manieth [1]")
    parser.add_argument("--only", nargs="+", default=(), help="the names of sets of questions")
    parser.add_argument("--sets", type=Path, default=FOLDER, help="a folder of sets of your own")
    parser.add_argument("--alone", action="store_true", help="compare no tools with requests")
    given = parser.parse_args()
    models = given.models or ("embedded", "scripted")
    found: list[Figures] = []
    if "scripted" in models:
        routing = _every(QuestionSet("routing", tools.SEARCHES, questions.ROUTING), given.every)
        async with scripted(list(routing.questions), tools.SEARCHES) as stub:
            for decider in given.deciders:
                found.append(await measured(stub, SCRIPTED, decider, routing, None))
                _print(found[-1])
    if "embedded" in models:
        asked = [_every(each, given.every) for each in _sets(given.sets, given.only)]
        async with embedded() as stub, aclosing(SemanticSimilarity()) as similarity:
            for decider in given.deciders:
                for each in asked:
                    if decider in _DEAR and not (given.only or each.name in _FOR_ALL):
                        continue
                    near = None if given.alone else similarity
                    found.append(await measured(stub, EMBEDDED, decider, each, near))
                    _print(found[-1])
    _RESULTS.parent.mkdir(parents=True, exist_ok=True)
    how: dict[str, object] = {name: str(value) for name, value in vars(given).items()}
    kept = circumstances(how) | {"figures": [asdict(each) for each in found]}
    _RESULTS.write_text(json.dumps(kept, indent=1, ensure_ascii=False))


def _sets(folder: Path, only: Sequence[str]) -> list[QuestionSet]:
    """Return what the embedded model is asked."""
    bare = [replace(each, examples=()) for each in tools.THREE]
    known = [
        QuestionSet("routing", tools.SEARCHES, questions.ROUTING),
        QuestionSet("three tools", tools.THREE, questions.THREE),
        QuestionSet("three bare tools", bare, questions.THREE),
        *question_sets(folder),
    ]
    return [each for each in known if not only or each.name in only]


def _every(asked: QuestionSet, step: int) -> QuestionSet:
    return replace(asked, questions=asked.questions[::step])


def _print(done: Figures) -> None:
    print(
        f"{done.model:32} {done.questions:12} {done.decider:7} "
        f"right {done.right:3}/{done.asked}, by itself {done.own:3}, "
        f"with inputs {done.arguments:3}, fell back {done.fell_back:3}, "
        f"{done.seconds:7.3f} s, {done.cpu_seconds:7.3f} CPU s, {done.tokens:7.1f} tokens",
        flush=True,
    )


if __name__ == "__main__":
    asyncio.run(main())
