"""`/v1/embeddings`: vectors of texts by the models of the knowledge service."""

import base64
import math
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.errors import ResourceExhaustedError
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.serving.fair_slots import FairSlots, QueueFullError, Tenant
from pydantic import BeforeValidator, ConfigDict, Field

from heddle_gateway.http.error_responses import invalid
from heddle_gateway.http.models import Model, Name
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call

MAX_TEXTS = 2_048
MAX_TEXT_CHARS = 32_000
MAX_CONCURRENT = 2
"""Requests of one caller: all share the processes that embed."""
_BATCH = 32  # searches that wait for the same process have their turn between two batches
_CHARS_PER_TOKEN = 4
_DEFAULT = "default"
_KINDS = {"document": pb.EMBEDDING_KIND_PASSAGE, "query": pb.EMBEDDING_KIND_QUERY}
_UNLIMITED = 2**31
_slots = FairSlots(_UNLIMITED, per_organization=MAX_CONCURRENT, max_waiting_per_organization=0)
"""Each caller counts as an organisation."""
routes = Routes("vector stores")


def _texts(value: object) -> object:
    """Return the input as a list; reject tokens, which belong to models of others."""
    texts = [value] if isinstance(value, str) else value
    if isinstance(texts, list) and any(isinstance(each, int | list) for each in texts):
        raise ValueError(
            "must be texts: the models read no token ids. In LangChain, set "
            "check_embedding_ctx_length=False"
        )
    return texts


_Text = Annotated[Name, Field(max_length=MAX_TEXT_CHARS)]


class EmbeddingRequest(Model):
    """Texts to embed."""

    model: str = Field(
        min_length=1,
        max_length=256,
        description="`default`, or one of the `embedding_models` of `/v1/vector_store_options`.",
    )
    input: Annotated[
        list[_Text],
        BeforeValidator(_texts, json_schema_input_type=_Text | list[_Text]),
        Field(min_length=1, max_length=MAX_TEXTS),
    ]
    encoding_format: Literal["float", "base64"] | None = Field(
        default=None, description="Lists of numbers (the default), or float32 in base64."
    )
    dimensions: Annotated[int, Field(ge=1)] | None = Field(
        default=None,
        description="At most the model's own number. Fewer are the first ones, with the length 1 "
        "again, and find less.",
    )
    input_type: Literal["document", "query"] | None = Field(
        default=None,
        description="An extension of OpenAI's form, for models that embed the two differently. "
        "`document` by default.",
    )

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"model": "default", "input": ["A heddle.", "A shed."]}]}
    )


class Embeddings(Model):
    """The vectors of the texts, in their order. Each has the length 1."""

    object: Literal["list"] = "list"
    data: list[dict[str, Any]]
    model: str
    usage: dict[str, int] = Field(description="An estimate: four characters are a token.")


@routes.post("/v1/embeddings", "/embeddings")
async def embed(api: Call, body: EmbeddingRequest) -> Embeddings:
    """Turn texts into vectors with a model that collections use.

    The caller needs the right `run_tools`, and may have two such requests at the same time. A model
    reads the beginning of a text that is too long for it.
    """
    model = "" if body.model == _DEFAULT else body.model
    kind = _KINDS[body.input_type or "document"]
    data: list[dict[str, Any]] = []
    async with one_of_few():
        for start in range(0, len(body.input), _BATCH):
            texts = body.input[start : start + _BATCH]
            request = pb.EmbedTextsRequest(texts=texts, model=model, kind=kind)
            response = await call(api.services.knowledge.EmbedTexts, request)
            model = response.model
            data += [
                _embedding(each, start + i, body) for i, each in enumerate(response.embeddings)
            ]
    tokens = sum(-(-len(text) // _CHARS_PER_TOKEN) for text in body.input)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return Embeddings(data=data, model=body.model, usage=usage)


@asynccontextmanager
async def one_of_few() -> AsyncIterator[None]:
    """Count a request of the caller while it runs.

    Raises:
        ResourceExhaustedError: The caller has too many.
    """
    identity = caller().identity
    name = f"{identity.organization}\n{identity.subject}\n{identity.key_id}"
    try:
        await _slots.acquire(Tenant(name, ""))
    except QueueFullError:
        message = f"At most {MAX_CONCURRENT} requests for embeddings at the same time. Try again."
        raise ResourceExhaustedError(message, retry_after=1.0) from None
    try:
        yield
    finally:
        _slots.release(name)


def _embedding(embedding: pb.Embedding, index: int, body: EmbeddingRequest) -> dict[str, Any]:
    values = embedding.values
    numbers = list(values)
    if body.dimensions is not None:
        numbers = _first(numbers, body.dimensions)
    vector: object = numbers
    if body.encoding_format == "base64":
        vector = base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()
    return {"object": "embedding", "index": index, "embedding": vector}


def _first(numbers: list[float], count: int) -> list[float]:
    """Return the first numbers of a vector as one of the length 1."""
    if count > len(numbers):
        raise invalid("dimensions", f"must be at most {len(numbers)}, the model's own number")
    if count == len(numbers):
        return numbers
    length = math.hypot(*numbers[:count]) or 1.0
    return [each / length for each in numbers[:count]]
