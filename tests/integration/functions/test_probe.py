"""A public probe of servers with functions finds nothing wrong, however the model calls."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from connector.toolcalls.formats import WRITINGS
from integration.functions.conversationalist import Voice, answering, native, written
from integration.functions.stage import Stage
from runtime.examples import sampled

pytestmark = pytest.mark.asyncio(loop_scope="module")
SCENARIOS = 9
READ = (
    *("qwen3_coder", "qwen3_coder inline", "hermes", "hermes, list", "xlam", "xlam, fenced"),
    *("mistral", "mistral_v11", "llama_json", "deepseek_v31", "deepseek_v32", "glm45", "kimi_k2"),
    *("minimax_m2", "granite", "gpt_oss, recipient in channel"),
)
WAYS = {writing.id: writing for writing in WRITINGS}
VOICES: dict[str, Voice] = {
    "native": native,
    **{name: written(WAYS[name]) for name in READ},
}
CASES = [
    *((name, "brief") for name in VOICES),
    *((name, "brief-adding") for name in ("native", "qwen3_coder", "hermes", "xlam")),
]


async def probed(url: str, assistant: str, folder: Path) -> dict[str, Any]:
    """Return what the probe found."""
    report = folder / "report.json"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "canitoolcall", "probe", "--base-url", f"{url}/v1"),
        *("--model", f"lamb_assistant.{assistant}", "--json", str(report)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    report_: dict[str, Any] = json.loads(report.read_text())
    return report_


@pytest.mark.parametrize(("name", "assistant"), sampled(CASES, 1))
async def test_all_checks_pass(name: str, assistant: str, stage: Stage, tmp_path: Path) -> None:
    stage.follow(answering(VOICES[name]))
    report_ = await probed(stage.heddle.url, assistant, tmp_path)

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
