"""OpenAI's way to ask for pictures and nothing else."""

import asyncio
import re
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import grpc
import msgspec
from heddle.orchestrator.v1.orchestrator_pb2 import RunWholeCompletionRequest
from heddle_runtime.errors import HeddleError

from heddle_gateway import completions, fields, pictures
from heddle_gateway.answers import encoded, replacement
from heddle_gateway.bodies import read_object
from heddle_gateway.exchange import Exchange, Reply
from heddle_gateway.fold import Answer
from heddle_gateway.json_text import Place
from heddle_gateway.lifeline import End, EndedError
from heddle_gateway.messages import fill_question
from heddle_gateway.problems import Problem
from heddle_gateway.translate import model_name

if TYPE_CHECKING:
    from heddle_gateway.state import State

MOST = 4
"""Pictures of one request, each of which is an answer of its own."""
_FORMS = ("url", "b64_json")
_SIZE = re.compile(r"auto|[1-9][0-9]{0,4}x[1-9][0-9]{0,4}", re.ASCII)
_LONGEST_QUOTE = 500


class _Order(msgspec.Struct, frozen=True):
    request: RunWholeCompletionRequest
    number: int
    form: str


async def generations(state: "State", exchange: Exchange) -> Reply | Problem | None:
    """Answer `POST /v1/images/generations`."""
    ordered = _order(*await read_object(state, exchange))
    completions.refuse_if_busy(state)
    try:
        with state.lifelines.watching(exchange):
            return await _made(state, exchange, ordered)
    except EndedError as error:
        exchange.gone = error.end is End.CLIENT_GONE
        return None if exchange.gone else completions.stopped()


async def _made(state: "State", exchange: Exchange, ordered: _Order) -> Reply | Problem:
    try:
        answers = await _answers(state, ordered)
    except (HeddleError, grpc.aio.AioRpcError) as error:
        return completions.problem(error)
    made = [picture for answer in answers for picture in answer.pictures]
    if not made:
        return _words(answers[0])
    link = partial(pictures.link, state, exchange)
    data = [
        {"url": link(picture.name)} if ordered.form == "url" else {"b64_json": encoded(picture)}
        for picture in made
    ]
    told = {"created": int(time.time()), "data": data}
    return Reply.json(told, headers=completions.warning(answers[0]))


async def _answers(state: "State", ordered: _Order) -> Sequence[Answer]:
    """Return as many answers as are asked for, made at the same time; all or none."""
    answers = [Answer() for _ in range(ordered.number)]
    try:
        async with asyncio.TaskGroup() as group:
            for answer in answers:
                group.create_task(completions.answered(state, ordered.request, answer))
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return answers


def _words(answer: Answer) -> Problem:
    instead = "" if answer.replaced is None else f" {replacement(answer.replaced)}."
    message = (
        f"The assistant answered in words and made no picture.{instead} Name an assistant whose "
        f"connector makes pictures, or ask otherwise. It said: {answer.text[:_LONGEST_QUOTE]}"
    )
    return Problem(400, message, param="model", code="no_picture")


def _order(given: dict[str, Any], place: Place) -> _Order:
    """Translate the body. Members that are not read here have no effect.

    Raises:
        InvalidRequestError: The body is wrong.
    """
    whole = RunWholeCompletionRequest()
    request = whole.run
    request.assistant_reference = model_name(given, place)
    fill_question(request.messages, fields.text(given.get("prompt"), place, "prompt", empty=False))
    if given.get("stream") not in (None, False):
        raise (place / "stream").wrong("must be false: a picture comes in one piece")
    if (size := given.get("size")) is not None:
        if not _SIZE.fullmatch(fields.text(size, place, "size")):
            raise (place / "size").wrong("must be auto or, for example, 1024x1536")
        request.options.extra_json = msgspec.json.encode({"size": size}).decode()
    number, form = given.get("n"), given.get("response_format")
    return _Order(
        whole,
        1 if number is None else fields.whole(number, place, "n", low=1, high=MOST),
        "url" if form is None else fields.choice(form, place, "response_format", among=_FORMS),
    )
