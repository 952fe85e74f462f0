"""`/v1/images/generations`: images from assistants whose connector generates images."""

import asyncio
import time
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal

import grpc
import msgspec
from heddle.chat.v1.chat_pb2 import Done, GeneratedImage
from heddle.orchestrator.v1.orchestrator_pb2 import RunWholeCompletionRequest
from heddle_runtime.errors import HeddleError
from pydantic import ConfigDict, Field
from starlette.responses import Response

from heddle_gateway.http.error_responses import ErrorResponse, RejectedRequestError
from heddle_gateway.http.models import Model, Name
from heddle_gateway.openai import served_images
from heddle_gateway.openai.chat import completions
from heddle_gateway.openai.chat.aggregation import Completion
from heddle_gateway.openai.chat.event_encoder import Answer
from heddle_gateway.openai.chat.messages import add_question
from heddle_gateway.openai.chat.run_events import encoded
from heddle_gateway.routing import Call, Routes
from heddle_gateway.state import State

MAX_IMAGES = 4
"""Images of one request; each is a run of its own."""
_MAX_QUOTE = 500
_SIZES = ("1024x1024", "1024x1536", "1536x1024")
"""Those that clients of streams know."""
routes = Routes("completions")


class ImageRequest(Model):
    """A request for images."""

    model: str = Field(
        min_length=1, max_length=256, description="The assistant, as in a chat completion."
    )
    prompt: Name
    n: Annotated[int, Field(ge=1, le=MAX_IMAGES)] | None = Field(
        default=None, description="The number of images, 1 by default."
    )
    size: Annotated[str, Field(pattern="^(auto|[1-9][0-9]{0,4}x[1-9][0-9]{0,4})$")] | None = Field(
        default=None,
        description="Width and height. Models with fixed ratios take the nearest.",
    )
    response_format: Literal["url", "b64_json"] | None = Field(
        default=None,
        description="A link to `/v1/pictures/{name}` (the default), which needs the same key, or "
        "the image itself.",
    )
    stream: bool | None = Field(
        default=None,
        description="Return an event `image_generation.completed` for each image, which has the "
        "image itself. There are no partial images.",
    )

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"model": "lamb_assistant.1", "prompt": "A loom by the sea.", "n": 1}]
        }
    )


class Images(Model):
    """The images; fewer than `n` if a run generated none.

    With the header `X-Heddle-Warning` a tool failed, or another model answered.
    """

    created: int
    data: list[dict[str, str]] = Field(min_length=1, description="Each has `url` or `b64_json`.")


@routes.post(
    "/v1/images/generations",
    "/images/generations",
    returns=Images,
    content=("application/json", "text/event-stream"),
    errors=(404, 409, 422, 502),
)
async def generate(api: Call, body: ImageRequest) -> Images | Response:
    """Generate images with an assistant whose connector generates images.

    Each image is a completion of the assistant, with its tools and its template.
    """
    with api.state.running.watch(api.raw):
        try:
            runs = await _run(api.state, body, api.raw.request_id)
        except (HeddleError, grpc.aio.AioRpcError) as error:
            raise RejectedRequestError(completions.run_error(error)) from error
    images = [image for run in runs for image in run.images]
    if not images:
        raise RejectedRequestError(_no_image(runs[0]))
    for name, value in runs[0].report.header():
        api.headers[name.decode()] = value.decode()
    if body.stream:
        frames = b"".join(_frame(body, run, image) for run in runs for image in run.images)
        return Response(frames, media_type="text/event-stream")
    link = partial(served_images.link, api.state, api.raw)
    data = [
        {"b64_json": encoded(image)}
        if body.response_format == "b64_json"
        else {"url": link(image.name)}
        for image in images
    ]
    return Images(created=int(time.time()), data=data)


def _frame(body: ImageRequest, run: Completion, image: GeneratedImage) -> bytes:
    """Return the event of a complete image."""
    kind = "image_generation.completed"
    counts = (run.done or Done()).usage
    prompt, written = counts.prompt_tokens, counts.completion_tokens
    event = {
        "type": kind,
        "b64_json": encoded(image),
        "created_at": int(time.time()),
        "size": body.size if body.size in _SIZES else "auto",
        "quality": "auto",
        "background": "auto",
        "output_format": image.media_type.removeprefix("image/"),
        "usage": {
            "input_tokens": prompt,
            "input_tokens_details": {"text_tokens": prompt, "image_tokens": 0},
            "output_tokens": written,
            "total_tokens": prompt + written,
        },
    }
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), msgspec.json.encode(event))


async def _run(state: State, body: ImageRequest, request_id: str) -> Sequence[Completion]:
    """Return all completions, which run at the same time; one failure fails all."""
    request = RunWholeCompletionRequest()
    request.run.assistant_reference = body.model
    add_question(request.run.messages, body.prompt)
    if body.size is not None:
        options: dict[str, Any] = {"size": body.size}
        request.run.options.extra_json = msgspec.json.encode(options).decode()
    runs = [Completion(Answer(request_id)) for _ in range(body.n or 1)]
    try:
        async with asyncio.TaskGroup() as group:
            for run in runs:
                group.create_task(completions.run_whole(state, request, run))
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return runs


def _no_image(run: Completion) -> ErrorResponse:
    warning = f" {run.report.replacement}." if run.report.replacement else ""
    message = (
        f"The assistant answered with text and generated no image.{warning} Name an assistant "
        "whose connector generates images, or change the prompt. The text: "
        f"{run.text[:_MAX_QUOTE]}"
    )
    return ErrorResponse(400, message, param="model", code="no_picture")
