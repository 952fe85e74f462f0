"""What the tests of a module share: Heddle, and OpenAI's SDK as its client."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from heddle_gateway.auth.authenticator import DEVELOPMENT_KEY
from integration.functions.stage import Stage, staged
from openai import AsyncOpenAI


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """Each test sets the script of its provider."""
    async with staged(tmp_path_factory.mktemp("stage")) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(stage: Stage) -> AsyncIterator[AsyncOpenAI]:
    url = f"{stage.heddle.url}/v1"
    async with AsyncOpenAI(base_url=url, api_key=DEVELOPMENT_KEY, max_retries=0) as client:
        yield client
