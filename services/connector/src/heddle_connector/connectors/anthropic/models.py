"""The answers of Anthropic's API for its list of models."""

from collections.abc import Sequence
from typing import Literal

import msgspec


class Support(msgspec.Struct, frozen=True):
    """A capability, which the API sends as an object with this one flag."""

    supported: bool = False


class ThinkingTypes(msgspec.Struct, frozen=True):
    """The values of `thinking.type` that a model accepts."""

    adaptive: Support = Support()
    enabled: Support = Support()
    disabled: Support = Support()
    between_tools: Support = Support()


class Thinking(msgspec.Struct, frozen=True):
    """The forms of extended thinking that a model supports."""

    types: ThinkingTypes = ThinkingTypes()


class Efforts(msgspec.Struct, frozen=True):
    """The levels of effort that a model accepts."""

    low: Support | None = None
    medium: Support | None = None
    high: Support | None = None
    xhigh: Support | None = None
    max: Support | None = None


class Capabilities(msgspec.Struct, frozen=True):
    """The capabilities of a model: its kinds of input, forms of thinking and levels of effort."""

    image_input: Support = Support()
    pdf_input: Support = Support()
    thinking: Thinking = Thinking()
    effort: Efforts = Efforts()


class ListedModel(msgspec.Struct, frozen=True):
    """A model in the provider's list."""

    id: str
    display_name: str = ""
    capabilities: Capabilities | None = None


class ModelList(msgspec.Struct, frozen=True):
    """A page of the provider's list."""

    data: list[ListedModel]
    has_more: bool = False


def input_kinds(model: ListedModel) -> Sequence[Literal["image", "file"]]:
    """Return the kinds of input besides text, as far as the provider reports them."""
    if model.capabilities is None:
        return ()
    kinds: list[Literal["image", "file"]] = []
    if model.capabilities.image_input.supported:
        kinds.append("image")
    if model.capabilities.pdf_input.supported:
        kinds.append("file")
    return kinds
