"""Plugins that block, exit, use memory or fork, while others use the service that runs them."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
import pytest_asyncio
from chaos.report import Report, permitted
from chaos.stage import Stage, running_stage
from heddle_tools_service.workers.confinement import missing
from integration.whole import write_assistant
from patience import until
from threats.test_22_misbehaving_tools import GOOD, PLUGIN

ATTACKS = {
    "hangs": "plugin blocks",
    "exits": "plugin exits",
    "eats": "plugin uses 4 GB",
    "forks": "plugin forks without end",
}
"""By tool of the plugin, the fault."""
USES = "{word_count}{context}{user_input}"
RESULTS = ("The message has 1 words.", "good")
"""Of the tools that the others use."""
OPERATIONS_BEFORE, OPERATIONS, ATTEMPTS = 200, 500, 4
"""What callers do before, during and after an attack, and how often each tool is used."""
MAX_ROUNDS = 3
"""How often an attack is measured, until it delays others no more than permitted. What delays them
itself does so each time; other programs of the machine do not."""

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(400),
    pytest.mark.skipif(bool(missing()), reason="the kernel lacks what confines plugins"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """All processes with two plugins; the load uses a built-in tool and the good plugin."""
    folder = tmp_path_factory.mktemp("plugins")
    plugins = folder / "plugins"
    plugins.mkdir()
    (plugins / "bad.py").write_text(PLUGIN)
    (plugins / "good.py").write_text(GOOD)
    model = "model: {connector: openai, model: m}\n"
    write_assistant(
        folder,
        "others",
        f"{model}tools: [{{type: word_count}}, {{type: good}}]\nprompt_template: '{USES}'\n",
    )
    for name in ATTACKS:
        write_assistant(
            folder,
            name,
            "model: {connector: bypass, model: full-conversation-bypass}\n"
            f"tools: [{{type: {name}, timeout: 1}}]\nprompt_template: '{{{name}}}'\n",
        )
    async with running_stage(folder, HEDDLE_TOOLS_PLUGINS_DIR=str(plugins)) as running:
        running.load.assistant = "others"
        yield running


@pytest.mark.parametrize(
    "names",
    [
        *(pytest.param([name], marks=pytest.mark.chaos, id=name) for name in ATTACKS),
        pytest.param(list(ATTACKS), marks=pytest.mark.exhaustive, id="all"),
    ],
)
async def test_a_plugin_that_misbehaves_delays_no_other_caller(
    stage: Stage, report: Report, names: list[str]
) -> None:
    await stage.begin(clients=1)
    stage.provider.bodies.clear()
    during, limit = await compared(stage, names)
    for _ in range(MAX_ROUNDS - 1):
        if during > limit:
            during, limit = await compared(stage, names)
    await stage.load.check()
    questions = [body["messages"][-1]["content"] for body in stage.provider.bodies]
    assert questions
    assert all(result in question for question in questions for result in RESULTS)
    fault = ATTACKS[names[0]] if len(names) == 1 else "all these plugins at once"
    report.add(fault, stage.history, p99=(during, limit), errors_allowed=False)


async def compared(stage: Stage, names: list[str]) -> tuple[float, float]:
    """Return the p99 of callers while tools misbehave, and what is permitted."""
    before = await calm(stage)
    during = await attacked(stage, names)
    # What else the machine does can begin or end with the attack.
    return during, permitted(max(before, await calm(stage)))


async def calm(stage: Stage) -> float:
    """Return the p99 of callers without an attack."""
    done = len(stage.history.operations)
    await until(lambda: len(stage.history.operations) >= done + OPERATIONS_BEFORE, 100)
    return stage.history.p99(done)


async def attacked(stage: Stage, names: list[str]) -> float:
    """Return the p99 of callers while tools misbehave."""
    async with attacking(stage.load.client, names) as answers:
        done = len(stage.history.operations)
        await until(
            lambda: (
                len(stage.history.operations) >= done + OPERATIONS
                and all(answers[name] >= ATTEMPTS for name in names)
            ),
            100,
        )
        return stage.history.p99(done)


@asynccontextmanager
async def attacking(client: httpx.AsyncClient, names: list[str]) -> AsyncIterator["Counter[str]"]:
    """Use tools that misbehave, two callers for each; yield the number of answers by tool."""
    answers: Counter[str] = Counter()

    async def attack(name: str) -> None:
        body = {"model": name, "messages": [{"role": "user", "content": "hi"}]}
        while True:
            response = await client.post("/v1/chat/completions", json=body)
            assert response.status_code == httpx.codes.OK, response.text
            answers[name] += 1

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(attack(name)) for name in names for _ in range(2)]
        yield answers
        for task in tasks:
            task.cancel()
