"""Threat 3: a short text with many names becomes a long prompt."""

from pathlib import Path

import pytest
from threats.model_prompts import ask, assistants, prompt_of, quotation

PASSAGE_CHARS, NAMES = 50_000, 110
MAX_PROMPT_CHARS = 200_000
LONG = quotation("context", "x", PASSAGE_CHARS)


@pytest.mark.exhaustive
async def test_names_of_a_user_do_not_multiply_what_tools_find(tmp_path: Path) -> None:
    template, question = "{context}{user_input}", "{context}" * NAMES
    async with assistants(tmp_path, {"prompt_template": template, "tools": [LONG]}) as client:
        prompt = await prompt_of(client, 1, question)

    assert len(prompt) <= len(template) + PASSAGE_CHARS + len(question) + len("\n\n" * 4)
    assert prompt.count("x") == PASSAGE_CHARS + question.count("x")


async def test_a_template_that_makes_too_long_a_prompt_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDDLE_ORCHESTRATOR_MAX_PROMPT_CHARS", str(MAX_PROMPT_CHARS))
    document = {"prompt_template": "{context}" * NAMES, "tools": [LONG]}
    async with assistants(tmp_path, document) as client:
        for stream in (False, True):
            response = await ask(client, 1, "Why?", stream=stream)
            assert "invalid_request_error" in response.text
            assert "long" in response.text
            assert len(response.content) < 2_000
