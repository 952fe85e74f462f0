"""`heddle evaluate`."""

import statistics
from dataclasses import asdict
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import Annotated, Any

import typer

from heddle_cli.evaluation.gateway import Gateway
from heddle_cli.evaluation.judgement import Answer, Judgement, judge, shares_words
from heddle_cli.evaluation.questions import Question, read_questions
from heddle_cli.options import AsJson
from heddle_cli.terminal import notes, plain, show

_HEAD = ("VARIANT", "PASSED", "ANSWERED", "DECLINED", "CITATIONS", "TOKENS", "USD", "SECONDS")
Result = tuple[Question, Answer, Judgement]


def evaluate(  # noqa: PLR0913 - each is an option
    assistant: Annotated[str, typer.Argument(help="The assistant's id.")],
    questions: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="The questions, as JSON Lines.")
    ],
    *,
    version: Annotated[
        list[int] | None, typer.Option(help="A version to compare; may be repeated.")
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(help="A model to compare, as CONNECTOR/MODEL; may be repeated."),
    ] = None,
    judging_model: Annotated[
        str, typer.Option(help="The model that judges citations, as CONNECTOR/MODEL.")
    ] = "",
    least: Annotated[
        float, typer.Option(min=0, max=1, help="The share of questions that must pass.")
    ] = 1.0,
    url: Annotated[str, typer.Option(help="The address of the gateway.")] = "http://127.0.0.1:8080",
    key_file: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="A file with an API key.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask an assistant the questions of a file, and compare its answers with what is expected.

    A line has `question`, and for its answer `facts`, `sources`, or `answerable: false`. The exit
    code is 1 if a smaller share of the questions passes than --least, in any variant.
    """
    every = read_questions(questions)
    gateway = Gateway(url, key_file.read_text().strip() if key_file else "")
    supports = partial(gateway.supports, judging_model) if judging_model else shares_words
    choices: list[tuple[str, int | None, str]]
    choices = [(f"version {each}", each, "") for each in version or ()]
    choices += [(each, None, each) for each in model or ()]
    results: dict[str, list[Result]] = {}
    for name, number, other in choices or [("as it is", None, "")]:
        variant = gateway.variant(assistant, number, other)
        results[name] = []
        for question in every:
            answer = gateway.ask(variant, question.text)
            judgement = judge(question, answer, supports)
            results[name].append((question, answer, judgement))
            for fault in judgement.faults if not as_json else ():
                notes.print(plain(f"{name}: {question.text} {fault}."), style="yellow")
    document = {"variants": [_members(name, rows) for name, rows in results.items()]}
    show(document, starmap(_row, results.items()), as_json=as_json, head=_HEAD)
    if any(_passed(each) < least * len(every) for each in results.values()):
        raise typer.Exit(1)


def _passed(results: list[Result]) -> int:
    return sum(not judgement.faults for _, _, judgement in results)


def _row(name: str, results: list[Result]) -> tuple[str, ...]:
    answerable = [it for question, _, it in results if question.is_answerable]
    others = [it for question, _, it in results if not question.is_answerable]
    citations = sum(it.citations for it in answerable)
    supported = citations - sum(it.unsupported for it in answerable)
    costs = [answer.dollars for _, answer, _ in results if answer.dollars is not None]
    return (
        name,
        f"{_passed(results)}/{len(results)}",
        f"{sum(not it.declined for it in answerable)}/{len(answerable)}",
        f"{sum(it.declined for it in others)}/{len(others)}",
        f"{supported}/{citations}",
        str(sum(answer.tokens for _, answer, _ in results)),
        f"{sum(costs):.6f}" if costs else "-",
        f"{statistics.median(answer.seconds for _, answer, _ in results):.2f}",
    )


def _members(name: str, results: list[Result]) -> dict[str, Any]:
    judged = [{"question": it.text, **asdict(one), **asdict(other)} for it, one, other in results]
    return {"name": name, "passed": _passed(results), "questions": judged}
