"""One Heddle for the tests of a module, before providers that follow the script of each test."""

import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from connector import anthropic_api
from connector.provider import Exchange, Provider, Script, provider
from integration.functions import upstream
from integration.functions.toolbox import PLUGIN
from integration.functions.upstream import Upstream
from integration.whole import Whole, whole, write_assistant

STYLES = {"qwen3_coder": "F1", "hermes": "F2", "xlam": "F3"}
"""How models write calls as text, by the first word of their names."""
ADDER = "tools: [{type: adder, mode: function}]\n"
MODEL = "model: {connector: openai, model: scripted}\n"
ANTHROPIC = f"model: {{connector: anthropic, model: {anthropic_api.MODEL}}}\n"
EVERYTHING = f"""{MODEL}prompt_template: 'Known: {{shelf}} Asked: {{user_input}}'
capabilities: {{vision: true}}
tools:
  - {{type: library, slot: shelf}}
  - {{type: adder, mode: function}}
"""
BRIEF = f"{MODEL}system_prompt: Be brief.\n"
ASSISTANTS = {
    "plain": MODEL,
    "adding": MODEL + ADDER,
    "everything": EVERYTHING,
    "brief": BRIEF,
    "brief-adding": BRIEF + ADDER,
    "anthropic": ANTHROPIC,
    "anthropic-adding": ANTHROPIC + ADDER,
}
"""What the assistants are, by their identifiers."""


@dataclass
class Stage:
    """A running Heddle with the tools of the toolbox."""

    heddle: Whole
    anthropic: Provider
    current: Upstream = field(default_factory=lambda: Upstream([[]]))

    def follow(
        self, turns: upstream.Script, refuses: Callable[..., str] = lambda _: ""
    ) -> Upstream:
        """Let the provider in OpenAI's form follow a script from now on; it has no requests yet."""
        self.current = Upstream(turns, refuses)
        return self.current

    def follow_anthropic(self, script: Script) -> list[Exchange]:
        """Let Anthropic's API follow a script from now on; return where its requests go."""
        self.anthropic.script, self.anthropic.exchanges = script, []
        return self.anthropic.exchanges


@asynccontextmanager
async def staged(folder: Path, assistants: Mapping[str, str] = ASSISTANTS) -> AsyncIterator[Stage]:
    """Run Heddle with assistants before two providers."""
    (folder / "plugins").mkdir()
    (folder / "plugins" / "toolbox.py").write_text(PLUGIN)
    for identifier, document in assistants.items():
        write_assistant(folder, identifier, document)
    patterns = {f"openai/{style}*": style for style in STYLES}
    stages: list[Stage] = []
    async with (
        upstream.serving(lambda _: stages[0].current) as url,
        provider(_unscripted) as anthropic,
    ):
        settings = {
            "HEDDLE_CONNECTOR_OPENAI_BASE_URL": url,
            "HEDDLE_CONNECTOR_OPENAI_API_KEY": "test",
            "HEDDLE_CONNECTOR_ANTHROPIC_BASE_URL": anthropic.url,
            "HEDDLE_CONNECTOR_ANTHROPIC_API_KEY": anthropic_api.KEY,
            "HEDDLE_CONNECTOR_PROMPTED_TOOLS": json.dumps(patterns),
        }
        with patch.dict(os.environ, settings):
            async with whole(folder) as heddle:
                stages.append(Stage(heddle, anthropic))
                yield stages[0]


async def _unscripted(exchange: Exchange) -> None:
    await exchange.reply(500, "{}")
