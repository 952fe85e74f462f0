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

from heddle_gateway.http import validation
from heddle_gateway.http.body import read_object
from heddle_gateway.http.disconnect import End, EndedError
from heddle_gateway.http.error_responses import ErrorResponse
from heddle_gateway.http.json_text import Place
from heddle_gateway.http.raw import RawRequest, RawResponse
from heddle_gateway.openai import generated_images
from heddle_gateway.openai.chat import completions
from heddle_gateway.openai.chat.aggregation import Answer
from heddle_gateway.openai.chat.messages import fill_question
from heddle_gateway.openai.chat.request import model_name
from heddle_gateway.openai.chat.run_events import encoded, replacement

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


async def generations(state: "State", exchange: RawRequest) -> RawResponse | ErrorResponse | None:
    """Answer `POST /v1/images/generations`."""
    ordered = _order(*await read_object(state, exchange))
    completions.refuse_if_busy(state)
    try:
        with state.running.watching(exchange):
            return await _made(state, exchange, ordered)
    except EndedError as error:
        exchange.gone = error.end is End.CLIENT_GONE
        return None if exchange.gone else completions.stopped()


async def _made(
    state: "State", exchange: RawRequest, ordered: _Order
) -> RawResponse | ErrorResponse:
    try:
        answers = await _answers(state, ordered)
    except (HeddleError, grpc.aio.AioRpcError) as error:
        return completions.problem(error)
    made = [picture for answer in answers for picture in answer.pictures]
    if not made:
        return _words(answers[0])
    link = partial(generated_images.link, state, exchange)
    data = [
        {"url": link(picture.name)} if ordered.form == "url" else {"b64_json": encoded(picture)}
        for picture in made
    ]
    told = {"created": int(time.time()), "data": data}
    return RawResponse.json(told, headers=completions.warning(answers[0]))


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


def _words(answer: Answer) -> ErrorResponse:
    instead = "" if answer.replaced is None else f" {replacement(answer.replaced)}."
    message = (
        f"The assistant answered in words and made no picture.{instead} Name an assistant whose "
        f"connector makes pictures, or ask otherwise. It said: {answer.text[:_LONGEST_QUOTE]}"
    )
    return ErrorResponse(400, message, param="model", code="no_picture")


def _order(given: dict[str, Any], place: Place) -> _Order:
    """Translate the body. Members that are not read here have no effect.

    Raises:
        InvalidRequestError: The body is wrong.
    """
    whole = RunWholeCompletionRequest()
    request = whole.run
    request.assistant_reference = model_name(given, place)
    fill_question(
        request.messages, validation.text(given.get("prompt"), place, "prompt", empty=False)
    )
    if given.get("stream") not in (None, False):
        raise (place / "stream").wrong("must be false: a picture comes in one piece")
    if (size := given.get("size")) is not None:
        if not _SIZE.fullmatch(validation.text(size, place, "size")):
            raise (place / "size").wrong("must be auto or, for example, 1024x1536")
        request.options.extra_json = msgspec.json.encode({"size": size}).decode()
    number, form = given.get("n"), given.get("response_format")
    return _Order(
        whole,
        1 if number is None else validation.whole(number, place, "n", low=1, high=MOST),
        "url" if form is None else validation.choice(form, place, "response_format", among=_FORMS),
    )
