"""`heddle compare-lamb`."""

import json
from pathlib import Path
from typing import Annotated

import typer
from heddle.assistant.v1 import assistant_pb2
from heddle.assistant.v1.assistant_pb2_grpc import AssistantServiceStub
from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2
from heddle.orchestrator.v1.orchestrator_pb2_grpc import OrchestratorServiceStub
from heddle_cli.connections import connected
from heddle_cli.options import AsJsonLines
from heddle_cli.terminal import out, plain
from heddle_runtime.errors import HeddleError
from heddle_runtime.identity.callers import CREATOR, Identity

from heddle_migration_service.commands.lamb_client import LambClient
from heddle_migration_service.commands.lamb_comparison import (
    Comparison,
    Prompt,
    compare,
    debugged,
    prompt_of,
)

_BYPASS = assistant_pb2.ModelRef(connector="bypass", model="debug-bypass")
_AUGMENT = (assistant_pb2.MODE_UNSPECIFIED, assistant_pb2.MODE_AUGMENT)


def compare_lamb(  # noqa: PLR0913 - each is an option that people type
    assistants: Annotated[
        list[str], typer.Argument(metavar="ID...", help="Numbers of assistants, in both.")
    ],
    *,
    lamb_url: Annotated[str, typer.Option(help="The address of a running LAMB.")],
    lamb_token_file: Annotated[
        Path,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="A file with the token of a user who may use the assistants.",
        ),
    ],
    question: Annotated[
        list[str] | None, typer.Option("--question", "-q", help="A question. Repeatable.")
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="A file with a question in each line."),
    ] = None,
    answers: Annotated[
        bool,
        typer.Option("--answers", help="Also ask both models, which may cost money, and show."),
    ] = False,
    prompts: Annotated[
        bool, typer.Option("--prompts", help="Show both prompts, also if they are equal.")
    ] = False,
    as_json: AsJsonLines = False,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds for each answer.")] = 120.0,
) -> None:
    """Compare the prompts that LAMB and Heddle send for the same questions.

    No model is called: both answer with the prompt. Differences are explained, or flagged. The exit
    code is 1 if a difference is flagged or a prompt could not be had.
    """
    all_questions = _questions(question or [], questions)
    lamb = LambClient(lamb_url, lamb_token_file.read_text().strip(), timeout)
    failed = False
    for identifier in assistants:
        assistant = _assistant(identifier)
        for each in all_questions:
            record = _compared(assistant, identifier, each, lamb, timeout)
            if answers and "error" not in record:
                record["lamb_answer"] = lamb.ask(identifier, each, debug=False)
                record["heddle_answer"] = _run(assistant, each, timeout)
            failed |= record["outcome"] in ("flagged", "failed")
            out.print(json.dumps(record) if as_json else plain(_text(record, prompts=prompts)))
    if failed:
        raise typer.Exit(1)


def _questions(options: list[str], file: Path | None) -> list[str]:
    lines = file.read_text().splitlines() if file is not None else []
    questions_read = [*options, *(line.strip() for line in lines if line.strip())]
    if not questions_read:
        raise typer.BadParameter("Use --question or --questions.")
    return questions_read


def _assistant(identifier: str) -> assistant_pb2.Assistant:
    with connected("assistants", AssistantServiceStub) as connection:
        request = assistant_pb2.GetAssistantRequest(reference=f"lamb_assistant.{identifier}")
        return connection.stub.GetAssistant(request).assistant


def _compared(
    assistant: assistant_pb2.Assistant,
    identifier: str,
    question: str,
    lamb: LambClient,
    timeout: float,
) -> dict[str, object]:
    record: dict[str, object] = {"assistant": identifier, "question": question}
    try:
        theirs = _prompt_of_lamb(lamb, identifier, question)
        ours = _prompt(assistant, question, timeout)
    except HeddleError as error:
        return {**record, "outcome": "failed", "error": error.message}
    comparison = compare(theirs, ours, question)
    return {
        **record,
        "outcome": _outcome(comparison),
        "explanation": comparison.explanation,
        "difference": comparison.difference,
        "lamb": [[turn.role, turn.text] for turn in theirs],
        "heddle": [[turn.role, turn.text] for turn in ours],
    }


def _prompt_of_lamb(lamb: LambClient, identifier: str, question: str) -> Prompt:
    prompt = debugged(lamb.ask(identifier, question, debug=True))
    if prompt is None:
        raise HeddleError("LAMB does not answer with its prompt. Is it older than debug_bypass?")
    return prompt


def _outcome(comparison: Comparison) -> str:
    if comparison.equal:
        return "equal"
    return "flagged" if comparison.flagged else "explained"


def _prompt(assistant: assistant_pb2.Assistant, question: str, timeout: float) -> Prompt:
    """Return the prompt of Heddle, without a call of the assistant's model."""
    shown = assistant_pb2.Assistant()
    shown.CopyFrom(assistant)
    shown.model.CopyFrom(_BYPASS)
    shown.ClearField("strategy")
    shown.verbose = False
    del shown.tools[:]
    shown.tools.extend(each for each in assistant.tools if each.mode in _AUGMENT)
    answer = _run(shown, question, timeout)
    try:
        return prompt_of(json.loads(answer)["messages"])
    except (ValueError, LookupError, TypeError):
        raise HeddleError(f"Heddle does not answer with its prompt: {answer[:200]}") from None


def _run(assistant: assistant_pb2.Assistant, question: str, timeout: float) -> str:
    """Return the answer of an assistant, as its owner in the role of a creator."""
    part = chat_pb2.ContentPart(text=question)
    run = orchestrator_pb2.RunCompletionRequest(
        assistant=assistant,
        messages=[chat_pb2.Message(role=chat_pb2.ROLE_USER, parts=[part])],
    )
    request = orchestrator_pb2.RunWholeCompletionRequest(run=run)
    owner = Identity(assistant.owner, assistant.organization, (CREATOR,))
    with connected("orchestrator", OrchestratorServiceStub, owner) as connection:
        response = connection.stub.RunWholeCompletion(request, timeout=timeout)
    return "".join(event.text_delta for event in response.events)


def _text(record: dict[str, object], *, prompts: bool) -> str:
    outcome, explanation = record["outcome"], record.get("explanation") or record.get("error", "")
    lines = [f"{outcome}  {record['assistant']}  {record['question']}"]
    lines += [str(explanation)] if explanation else []
    if outcome == "flagged" or (outcome == "explained" and not prompts):
        lines.append(str(record["difference"]))
    for name, key in (("LAMB", "lamb"), ("Heddle", "heddle")):
        turns = record.get(key)
        if prompts and isinstance(turns, list):
            lines += [f"--- {name}", *(f"[{role}]\n{text}" for role, text in turns)]
        if answer := record.get(f"{key}_answer"):
            lines += [f"--- Answer of {name}", str(answer)]
    return "\n".join(lines)
