"""The help desk, asked in languages that its pages do not have."""

from pathlib import Path

import pytest
from examples.serving import served, source_names


@pytest.mark.exhaustive
async def test_a_question_in_one_language_finds_the_page_in_another(tmp_path: Path) -> None:
    async with served(tmp_path, "help-desk", collections=["help-desk"]) as desk:
        answer = await desk.ask("¿Cuánto tiempo puedo tener un libro?")
        instructions, prompt = desk.prompts

        assert "Answer in the language of the question" in instructions
        assert "You may keep a book for 28 days" in prompt
        assert prompt.rstrip().endswith("¿Cuánto tiempo puedo tener un libro?")
        assert source_names(answer)[0] == "Loans and returns"

        answer = await desk.ask("When is the night room open?")
        assert "La sala nocturna abre de las 21:00 a las 6:00" in desk.prompts[-1]
        assert source_names(answer)[0] == "Salas de estudio"

        await desk.ask("Wie komme ich ins WLAN?")
        assert "Choose **eduroam**." in desk.prompts[-1]


@pytest.mark.exhaustive
async def test_without_pages_the_model_learns_what_failed(tmp_path: Path) -> None:
    async with served(tmp_path, "help-desk") as desk:
        await desk.ask("When is the night room open?")

        assert "[The tool context_aware_rag failed: " in desk.prompts[-1]
        assert "help-desk" in desk.prompts[-1]
