"""`/v1/embeddings`, by the unmodified `openai` package."""

import math
from collections.abc import AsyncIterator

import openai
import pytest
import pytest_asyncio
from gateway.shelves import SHARED_LOOP, Shelves
from heddle_gateway.openai.embeddings import MAX_TEXT_CHARS, MAX_TEXTS
from openai import AsyncOpenAI

TEXTS = ["A shed is a gap.", "A reed spaces threads."] * 20

pytestmark = pytest.mark.asyncio(loop_scope=SHARED_LOOP)


@pytest.fixture
def shelf(shelves_of_new_people: Shelves) -> Shelves:
    return shelves_of_new_people


@pytest_asyncio.fixture(loop_scope=SHARED_LOOP)
async def client(shelf: Shelves) -> AsyncIterator[AsyncOpenAI]:
    """A client that is not in its strictest mode, which refuses the encoding that it asks for."""
    url = f"{shelf.url}/v1"
    async with AsyncOpenAI(base_url=url, api_key=shelf.key_of("ana"), max_retries=0) as client:
        yield client


async def test_both_encodings_have_the_same_vectors(client: AsyncOpenAI) -> None:
    embeddings = client.embeddings
    encoded = await embeddings.create(model="default", input=TEXTS)
    numbers = await embeddings.create(model=encoded.model, input=TEXTS, encoding_format="float")
    assert [each.index for each in numbers.data] == list(range(len(TEXTS)))
    for one, other in zip(encoded.data, numbers.data, strict=True):
        assert one.embedding == pytest.approx(other.embedding)
    assert sum(value**2 for value in encoded.data[0].embedding) == pytest.approx(1, abs=1e-5)
    assert encoded.usage.prompt_tokens == encoded.usage.total_tokens == 20 * (4 + 6)


async def test_a_vector_has_at_most_the_models_own_dimensions(client: AsyncOpenAI) -> None:
    embeddings = client.embeddings
    own = len((await embeddings.create(model="default", input="a")).data[0].embedding)
    await embeddings.create(model="default", input="a", dimensions=own)
    short = await embeddings.create(model="default", input="a", dimensions=16)
    assert math.hypot(*short.data[0].embedding) == pytest.approx(1)
    assert (short.model, len(short.data[0].embedding)) == ("default", 16)
    with pytest.raises(openai.BadRequestError, match=f"at most {own}"):
        await embeddings.create(model="default", input="a", dimensions=own + 1)


@pytest.mark.parametrize(
    ("member", "value", "reason"),
    [
        ("input", "", "must not be empty"),
        ("input", [], "must not be empty"),
        ("input", [1, 2], "token ids"),
        ("input", [[1], [2]], "token ids"),
        ("input", ["x" * (MAX_TEXT_CHARS + 1)], "32000"),
        ("input", ["x"] * (MAX_TEXTS + 1), "2048"),
        ("model", "text-embedding-3-small", "must be one of"),
        ("encoding_format", "int8", "must be one of"),
        ("dimensions", 0, "at least 1"),
        ("input_type", "passage", "must be one of"),
    ],
)
async def test_a_wrong_member_is_named(
    shelf: Shelves, member: str, value: object, reason: str
) -> None:
    body = {"model": "default", "input": "a", member: value}
    response = await shelf["ana"].post("/v1/embeddings", json=body)
    error = response.json()["error"]
    assert response.status_code == 400
    assert error["param"].startswith(member)
    assert reason in error["message"]
