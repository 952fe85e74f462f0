"""`python -m benchmarks.agent`: quality, speed and token use of the routers."""

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle_orchestrator.agent.decision import Candidate, Decision, UndecidedError, message
from heddle_orchestrator.agent.policy import is_greeting, respond
from heddle_orchestrator.agent.routers.registry import Routers
from heddle_orchestrator.agent.routers.rules import decide_by_rules
from heddle_orchestrator.agent.state import State, initial_state
from heddle_orchestrator.agent.validation import validated
from heddle_tools_service.providers.semantic_similarity import SemanticSimilarity

from benchmarks.agent import questions, tools
from benchmarks.agent.comparing import compared, local_similarity
from benchmarks.agent.model import EMBEDDED, SCRIPTED, embedded, model_client, scripted
from benchmarks.agent.sets import FOLDER, QuestionSet, foreign_words, is_right, question_sets
from benchmarks.gateway.processes import REPOSITORY
from benchmarks.gateway.report import circumstances

if TYPE_CHECKING:
    from heddle.connector.v1.connector_pb2_grpc import ConnectorServiceAsyncStub

_RESULTS = REPOSITORY / "benchmarks/results/agent.json"
_ROUTERS = ("rules", "native", "label", "dspy")
_ROLES = (chat_pb2.ROLE_USER, chat_pb2.ROLE_ASSISTANT)
_EXPENSIVE = ("native", "dspy")
_FOR_ALL = ("routing", "three tools")
"""The only sets for `_EXPENSIVE`, which need two seconds per decision with the embedded model."""


@dataclass(frozen=True)
class Figures:
    """The results of one router with one model on one set of questions."""

    questions: str
    model: str
    router: str
    total: int
    right: int
    own: int
    """Right without the rules: the router's own choices."""
    arguments: int
    """Right tool and arguments."""
    foreign: int
    """Questions with a word in the arguments that is not in the conversation or the schema."""
    fell_back: int
    seconds: float
    """Mean per decision."""
    cpu_seconds: float
    """Mean CPU time of this process, including the embedded models, per decision."""
    tokens: float
    """Mean prompt and completion tokens per decision."""
    wrong: tuple[str, ...]


async def measured(
    stub: "ConnectorServiceAsyncStub",
    model: assistant_pb2.ModelRef,
    router: str,
    question_set: QuestionSet,
    similarity: SemanticSimilarity | None,
) -> Figures:
    """Return the results of a router. Each question is the first of its own run.

    Args:
        stub: The connector service.
        model: The model.
        router: The router.
        question_set: The tools and the questions.
        similarity: Compares requests with tools, for deciders that want it; None leaves it out.
    """
    chooser = Routers(None).get(router, model.connector)
    ask = model_client(stub, model)
    right = own = arguments = foreign = fell_back = 0
    wrong = []
    started, cpu_started = time.perf_counter(), time.process_time()
    for each in question_set.questions:
        turns = [*each.earlier, each.text]
        conversation = [
            message(role, text) for role, text in zip(cycle(_ROLES), turns, strict=False)
        ]
        state = initial_state(conversation, conversation)
        candidates = question_set.tools
        if is_greeting(each.text):
            decision = respond("A greeting.")
        else:
            try:
                if chooser.uses_affinity and similarity is not None:
                    candidates = await compared(similarity, state.query, candidates)
                choice_ = await chooser.decide(ask, state, candidates)
                decision = validated(choice_, candidates, state)
            except UndecidedError as error:
                decision = _by_rules(state, candidates, str(error))
            except Exception as error:  # noqa: BLE001 - as the loop does
                decision = _by_rules(state, candidates, type(error).__name__)
        fell_back += bool(decision.rejected)
        choice = decision.choices[0]
        known = {tool.name: tool for tool in (*candidates, tools.END)}
        if words := foreign_words(choice.inputs, " ".join(turns), known[choice.tool]):
            foreign += 1
            wrong.append(f"{each.text} -> invented {' '.join(words)}")
        if choice.tool != each.tool:
            wrong.append(f"{each.text} -> {choice.tool}")
            continue
        right += 1
        own += not decision.rejected
        if not each.arguments or is_right(choice.inputs, each.arguments, known[choice.tool]):
            arguments += 1
        else:
            wrong.append(f"{each.text} -> {choice.tool}({json.dumps(dict(choice.inputs))})")
    count = len(question_set.questions)
    seconds = (time.perf_counter() - started) / count
    cpu_seconds = (time.process_time() - cpu_started) / count
    tokens = (ask.usage.prompt_tokens + ask.usage.completion_tokens) / count
    return Figures(
        question_set.name,
        f"{model.connector}/{model.model}",
        router,
        count,
        right,
        own,
        arguments,
        foreign,
        fell_back,
        round(seconds, 4),
        round(cpu_seconds, 4),
        round(tokens, 1),
        tuple(wrong),
    )


def _by_rules(state: State, tools_: Sequence[Candidate], reason: str) -> Decision:
    decision = decide_by_rules(state, tools_)
    return Decision(decision.choices, decision.reason, decision.router, reason)


async def main() -> None:
    """Measure, print and store the results."""
    parser = argparse.ArgumentParser("python -m benchmarks.agent", description=__doc__)
    parser.add_argument("--routers", nargs="+", choices=_ROUTERS, default=_ROUTERS)
    parser.add_argument("--models", nargs="+", choices=("embedded", "scripted"), default=None)
    parser.add_argument("--every", type=int, default=1, help="use every n-th question [1]")
    parser.add_argument("--only", nargs="+", default=(), help="names of question sets")
    parser.add_argument("--sets", type=Path, default=FOLDER, help="a folder with more sets")
    parser.add_argument("--alone", action="store_true", help="compute no affinities")
    options = parser.parse_args()
    models = options.models or ("embedded", "scripted")
    results: list[Figures] = []
    if "scripted" in models:
        routing = _every(QuestionSet("routing", tools.SEARCHES, questions.ROUTING), options.every)
        async with scripted(list(routing.questions), tools.SEARCHES) as stub:
            for router in options.routers:
                results.append(await measured(stub, SCRIPTED, router, routing, None))
                _print(results[-1])
    if "embedded" in models:
        question_sets_ = [_every(each, options.every) for each in _sets(options.sets, options.only)]
        async with embedded() as stub, local_similarity() as similarity:
            for router in options.routers:
                for each in question_sets_:
                    if router in _EXPENSIVE and not (options.only or each.name in _FOR_ALL):
                        continue
                    near = None if options.alone else similarity
                    results.append(await measured(stub, EMBEDDED, router, each, near))
                    _print(results[-1])
    _RESULTS.parent.mkdir(parents=True, exist_ok=True)
    settings: dict[str, object] = {name: str(value) for name, value in vars(options).items()}
    report = circumstances(settings) | {"figures": [asdict(each) for each in results]}
    _RESULTS.write_text(json.dumps(report, indent=1, ensure_ascii=False))


def _sets(folder: Path, only: Sequence[str]) -> list[QuestionSet]:
    """Return the sets for the embedded model."""
    bare = [replace(each, examples=()) for each in tools.THREE]
    known = [
        QuestionSet("routing", tools.SEARCHES, questions.ROUTING),
        QuestionSet("three tools", tools.THREE, questions.THREE),
        QuestionSet("three bare tools", bare, questions.THREE),
        *question_sets(folder),
    ]
    return [each for each in known if not only or each.name in only]


def _every(question_set: QuestionSet, step: int) -> QuestionSet:
    return replace(question_set, questions=question_set.questions[::step])


def _print(done: Figures) -> None:
    print(
        f"{done.model:32} {done.questions:12} {done.router:7} "
        f"right {done.right:3}/{done.total}, by itself {done.own:3}, "
        f"with arguments {done.arguments:3}, "
        f"with invented words {done.foreign:2}, fell back {done.fell_back:3}, "
        f"{done.seconds:7.3f} s, {done.cpu_seconds:7.3f} CPU s, {done.tokens:7.1f} tokens",
        flush=True,
    )


if __name__ == "__main__":
    asyncio.run(main())
