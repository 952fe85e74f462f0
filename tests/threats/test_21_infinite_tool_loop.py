"""Threat 21: a model that calls tools and never answers."""

from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import httpx
import pytest
from integration.browser import browser
from integration.functions.toolbox import PLUGIN
from integration.functions.upstream import Script, Upstream, calls, scripted
from integration.whole import whole, write_assistant

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


@pytest.fixture(params=SCRIPTS)
async def model(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Upstream, int]]:
    """A provider whose model never answers, and how often it may be asked."""
    script, most = SCRIPTS[request.param]
    async with scripted(script) as upstream:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", upstream.url)
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_API_KEY", "test")
        yield upstream, most


@pytest.mark.parametrize("stream", [False, True])
async def test_a_model_that_only_calls_tools_is_stopped(
    model: tuple[Upstream, int], tmp_path: Path, stream: bool
) -> None:
    upstream, most = model
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "toolbox.py").write_text(PLUGIN)
    write_assistant(tmp_path, "1", _ASSISTANT)
    async with whole(tmp_path) as heddle, browser(heddle.url) as client:
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
    assert len(upstream.bodies) == most
