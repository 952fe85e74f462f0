"""The tool that finds quiz questions, with the question bank of the examples."""

from pathlib import Path

import pytest
from examples.example_heddle import example
from integration.whole import write_assistant

TOOL = "plugins/question_bank.py"
BANK = "documents/questions.txt"


@pytest.mark.exhaustive
async def test_it_finds_the_questions_of_a_subject_and_says_when_the_bank_is_missing(
    tmp_path: Path,
) -> None:
    for identifier, path in (("quiz", "documents/questions.txt"), ("gone", "gone.gift")):
        write_assistant(
            tmp_path,
            identifier,
            "model: {connector: bypass, model: simple-bypass}\n"
            "prompt_template: 'Questions: {questions}'\n"
            f"tools: [{{type: question_bank, config: {{file_path: {path}, count: 2}}}}]\n",
        )
    async with example(tmp_path, TOOL, BANK) as heddle:
        (tmp_path / "documents").rename(tmp_path / "files" / "documents")
        quiz = await heddle.plain("quiz", "Test me on the loom and its warp threads.")
        nothing = await heddle.plain("quiz", "Test me on Roman emperors.")
        gone = await heddle.streamed("gone", "Test me on looms.")

    assert quiz.text.count("::") == 4
    assert "::Shed::" in quiz.text
    assert "=The warp." in quiz.text
    assert "GIFT" not in quiz.text
    assert "The question bank has no question about 'Test me on Roman emperors.'" in nothing.text
    assert "The tool question_bank failed: File not found" in gone.text
    assert gone.warnings[0].startswith("question_bank failed: File not found")
