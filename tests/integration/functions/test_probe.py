"""A public probe of servers with functions finds nothing wrong, however the model calls."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from connector.toolcalls.formats import WRITINGS
from integration.functions.conversationalist import Voice, answering, native, written
from integration.functions.toolbox import PLUGIN
from integration.functions.upstream import scripted
from integration.whole import whole, write_assistant
from runtime.examples import sampled

SCENARIOS = 9
READ = (
    *("qwen3_coder", "qwen3_coder inline", "hermes", "hermes, list", "xlam", "xlam, fenced"),
    *("mistral", "mistral_v11", "llama_json", "deepseek_v31", "deepseek_v32", "glm45", "kimi_k2"),
    *("minimax_m2", "granite", "gpt_oss, recipient in channel"),
)
VOICES: dict[str, Voice] = {
    "native": native,
    **{writing.id: written(writing) for writing in WRITINGS if writing.id in READ},
}
ITS_OWN = "tools: [{type: adder, mode: function}]\n"
CASES = [
    *((name, "") for name in VOICES),
    *((name, ITS_OWN) for name in ("native", "qwen3_coder", "hermes", "xlam")),
]


async def probed(url: str, folder: Path) -> dict[str, Any]:
    """Return what the probe found."""
    report = folder / "report.json"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "canitoolcall", "probe", "--base-url", f"{url}/v1"),
        *("--model", "lamb_assistant.1", "--json", str(report)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    report_: dict[str, Any] = json.loads(report.read_text())
    return report_


@pytest.mark.parametrize(
    ("name", "tools"), sampled(CASES, 3), ids=lambda it: "beside others" if it == ITS_OWN else it
)
async def test_all_checks_pass(
    name: str, tools: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "toolbox.py").write_text(PLUGIN)
    model = "model: {connector: openai, model: scripted}\n"
    write_assistant(tmp_path, "1", f"{model}system_prompt: Be brief.\n{tools}")
    async with scripted(answering(VOICES[name])) as upstream:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", upstream.url)
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_API_KEY", "test")
        async with whole(tmp_path) as heddle:
            report_ = await probed(heddle.url, tmp_path)

    # Each streamed, whole, and both alike.
    assert report_["summary"] == {"pass": 3 * SCENARIOS, "fail": 0, "error": 0, "skip": 0}
    assert [each["warnings"] for each in report_["outcomes"] if each["warnings"]] == []
    thoughts = [
        each["observed"]["reasoning_content"]
        for each in report_["outcomes"]
        if each["scenario_id"] == "reasoning-then-call" and each["observed"]
    ]
    assert len(thoughts) == 2
    assert all(thought.strip().startswith("9.9 is 9.90") for thought in thoughts)


def test_every_voice_is_there() -> None:
    assert len(VOICES) == 1 + len(READ)
