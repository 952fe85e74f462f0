"""How well the agent chooses tools and arguments with the embedded model, in labelled sets."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from heddle_tools_service.providers.semantic_similarity import SemanticSimilarity

from benchmarks.agent.__main__ import measured
from benchmarks.agent.comparing import local_similarity
from benchmarks.agent.model import EMBEDDED, embedded
from benchmarks.agent.sets import question_sets

if TYPE_CHECKING:
    from heddle.connector.v1.connector_pb2_grpc import ConnectorServiceAsyncStub

pytestmark = [
    pytest.mark.skipif(find_spec("xllamacpp") is None, reason="the model is not installed"),
    pytest.mark.asyncio(loop_scope="module"),
]
SETS = {each.name: each for each in question_sets()}


@dataclass(frozen=True)
class Models:
    stub: "ConnectorServiceAsyncStub"
    similarity: SemanticSimilarity


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def models() -> AsyncGenerator[Models]:
    async with embedded() as stub, local_similarity() as similarity:
        yield Models(stub, similarity)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["museum", "workshop", "parcels"])
async def test_tools_and_arguments_are_right(models: Models, name: str) -> None:
    figures = await measured(models.stub, EMBEDDED, "label", SETS[name], models.similarity)

    assert figures.total == 30
    assert figures.right >= 28, figures.wrong
    assert figures.arguments >= 19, figures.wrong
    assert figures.foreign == 0, figures.wrong


@pytest.mark.exhaustive
async def test_each_kind_of_argument_is_right(models: Models) -> None:
    museum = SETS["museum"]
    some = replace(museum, questions=museum.questions[6::10])  # the question refers back

    figures = await measured(models.stub, EMBEDDED, "label", some, models.similarity)

    assert (figures.right, figures.foreign) == (3, 0), figures.wrong
    assert figures.arguments >= 2, figures.wrong
