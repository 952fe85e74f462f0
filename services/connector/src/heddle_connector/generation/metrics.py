"""Measures requests to models."""

from functools import lru_cache
from time import perf_counter
from types import TracebackType
from typing import Self

import msgspec
from heddle_runtime.errors import error_type
from heddle_runtime.telemetry.metrics import table

from heddle_connector.generation.events import Usage

_PROVIDERS = {"banana_img": "gcp.gemini"}
"""The names of the conventions for connectors that have other ones."""
_PICTURES = frozenset({"banana_img"})
_MAX_CHARACTERS = 100


def provider_name(connector: str) -> str:
    """Return the name of the conventions for the provider of a connector."""
    return _PROVIDERS.get(connector, connector)


def operation(connector: str) -> str:
    """Return the name of the conventions for what a connector does."""
    return "generate_content" if connector in _PICTURES else "chat"


class _Labels:
    """The values of the labels of requests to one model."""

    __slots__ = ("first_chunk", "model", "success")

    def __init__(self, connector: str, model: str) -> None:
        self.model = (provider_name(connector), model[:_MAX_CHARACTERS])
        self.first_chunk = (*self.model, operation(connector))
        self.success = (*self.first_chunk, "")


_labels = lru_cache(1024)(_Labels)


class Inference(msgspec.Struct):
    """Measures a request to a model, or two if the default model answers. A context manager."""

    labels: _Labels
    started: float
    is_open: bool = True
    usage: Usage | None = None
    """The usage of the answer, if the provider reports it."""

    def begin(self, connector: str, model: str) -> None:
        """Measure a request from now on."""
        self.labels = _labels(connector, model)
        self.is_open = True
        self.started = perf_counter()

    def first_chunk(self) -> None:
        """Record that the first part of a streamed answer has arrived."""
        table.FIRST_CHUNK.observe(perf_counter() - self.started, *self.labels.first_chunk)

    def end(self, error: BaseException | None) -> None:
        """Record the end of the request. A second end of the same request counts nothing."""
        if not self.is_open or table.INFERENCE.children is None:  # metrics are off
            return
        self.is_open = False
        seconds = perf_counter() - self.started
        labels = self.labels
        ended = labels.success
        if error is not None:
            ended = (*labels.first_chunk, error_type(error))
        table.INFERENCE.observe(seconds, *ended)
        if (usage := self.usage) is not None:
            model = labels.model
            # Also nothing: a rate needs the counter before its first token.
            table.INPUT_TOKENS.add(usage.prompt_tokens, *model)
            table.OUTPUT_TOKENS.add(usage.completion_tokens, *model)
            table.CACHED_TOKENS.add(usage.cached_tokens, *model)
            table.REASONING_TOKENS.add(usage.reasoning_tokens, *model)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: TracebackType | None) -> None:
        self.end(error)


def inference(connector: str, model: str) -> Inference:
    """Return the measurement of a request that begins now."""
    return Inference(_labels(connector, model), perf_counter())
