"""A plugin that misbehaves, and the requests of others, over all processes."""

import asyncio
import time
from pathlib import Path

import httpx
import pytest
from heddle_tools_service.workers.confinement import missing
from integration.browser import browser
from integration.processes import Processes, processes
from integration.whole import write_assistant
from threats.test_22_misbehaving_tools import PLUGIN

MAX_P99_SECONDS = 0.2
ATTACK_SECONDS = 10
ATTACKS = ("hangs", "exits", "eats", "forks")
BYPASS = "model: {connector: bypass, model: full-conversation-bypass}\n"
PATH = "/v1/chat/completions"


def body(model: str) -> dict[str, object]:
    return {"model": model, "messages": [{"role": "user", "content": "one two"}]}


async def attack(client: httpx.AsyncClient, model: str, until: float) -> int:
    """Ask an assistant whose tool misbehaves until then; return the number of its answers."""
    answers = 0
    while time.monotonic() < until:
        response = await client.post(PATH, json=body(model))
        assert response.status_code == httpx.codes.OK, response.text
        answers += 1
    return answers


async def neighbour(client: httpx.AsyncClient, model: str, until: float) -> list[float]:
    """Ask another assistant until then; return the seconds of each answer."""
    seconds = []
    while time.monotonic() < until:
        started = time.perf_counter()
        response = await client.post(PATH, json=body(model))
        seconds.append(time.perf_counter() - started)
        assert "The message has 2 words." in response.text
        await asyncio.sleep(0.02)
    return seconds


async def attacked(services: Processes, *names: str) -> float:
    """Return the p99 of a neighbour's answers while tools misbehave."""
    async with browser(services.url) as client:
        until = time.monotonic() + ATTACK_SECONDS
        measuring = asyncio.create_task(neighbour(client, "lamb_assistant.0", until))
        answers = await asyncio.gather(
            *(
                attack(client, f"lamb_assistant.{1 + ATTACKS.index(name)}", until)
                for name in names
                for _ in range(2)
            )
        )
        seconds = await measuring
    assert all(answers)
    return sorted(seconds)[int(len(seconds) * 0.99)]


@pytest.mark.exhaustive
@pytest.mark.alone
@pytest.mark.timeout(300)
@pytest.mark.skipif(bool(missing()), reason="the kernel lacks what confines plugins")
async def test_p99_of_others_stays_below_200_ms(tmp_path: Path) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "bad.py").write_text(PLUGIN)
    counting = "tools: [{type: word_count}]\nprompt_template: '{word_count}{user_input}'\n"
    write_assistant(tmp_path, "0", BYPASS + counting)
    for number, name in enumerate(ATTACKS, start=1):
        using = f"tools: [{{type: {name}, timeout: 1}}]\nprompt_template: '{{{name}}}'\n"
        write_assistant(tmp_path, str(number), BYPASS + using)
    settings = {"HEDDLE_TOOLS_PLUGINS_DIR": str(tmp_path / "plugins")}
    async with processes(tmp_path, **settings) as services:
        p99 = {name: await attacked(services, name) for name in ATTACKS}
        p99["all"] = await attacked(services, *ATTACKS)

    assert {name: value for name, value in p99.items() if value > MAX_P99_SECONDS} == {}
