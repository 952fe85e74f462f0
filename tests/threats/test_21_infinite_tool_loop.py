"""Threat 21: a model that calls tools and never answers."""

from collections.abc import AsyncIterator
from itertools import count

import httpx
import pytest
import pytest_asyncio
from integration.browser import browser
from integration.functions.stage import Stage, staged
from integration.functions.upstream import Script, calls
from runtime.examples import sampled

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROUNDS = 5
_ASSISTANT = f"""
model: {{connector: openai, model: scripted}}
max_tool_rounds: {ROUNDS}
tools:
  - {{id: adder, type: adder, mode: function}}
  - {{id: broken, type: broken, mode: function}}
"""
_STOPPED = "The model called functions until it had to stop, and gave no answer."
_numbers = count()
SCRIPTS: dict[str, tuple[Script, int]] = {
    "other arguments in each round": (
        lambda _: [calls("add", f'{{"a": {next(_numbers)}}}')],
        ROUNDS + 1,
    ),
    "the same arguments": ([[calls("add", '{"a": 1}')]], 4),
    "calls that fail": (
        lambda _: [calls("broken", f'{{"query": "{next(_numbers)}"}}', at) for at in range(5)],
        3,
    ),
    "many calls at once": (
        lambda _: [calls("add", f'{{"a": {next(_numbers)}}}', at) for at in range(60)],
        ROUNDS + 1,
    ),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with staged(tmp_path_factory.mktemp("loops"), {"1": _ASSISTANT}) as running:
        yield running


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", sampled(SCRIPTS, 2))
async def test_a_model_that_only_calls_tools_is_stopped(
    stage: Stage, name: str, stream: bool
) -> None:
    script, requests_at_most = SCRIPTS[name]
    upstream = stage.follow(script)
    async with browser(stage.heddle.url) as client:
        response: httpx.Response = await client.post(
            "/v1/chat/completions",
            json={
                "model": "lamb_assistant.1",
                "messages": [{"role": "user", "content": "How many?"}],
                "stream": stream,
            },
        )
    assert response.status_code == 200, response.text
    assert _STOPPED in response.text
    assert len(upstream.bodies) == requests_at_most
