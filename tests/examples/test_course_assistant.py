"""The course assistant, from a question to the slides that its model and the student see."""

from pathlib import Path

import pytest
from examples.serving import served, source_names

TITLE = "Statistics for biologists 3: samples and estimates"


@pytest.mark.exhaustive
async def test_the_model_gets_the_slides_of_the_question_and_the_student_their_pages(
    tmp_path: Path,
) -> None:
    async with served(tmp_path, "course-assistant", collections=["course-slides"]) as course:
        answer = await course.ask("What does the standard error tell?")
        instructions, prompt = course.prompts

        assert "do not answer the question, say so" in instructions
        slides, question = prompt.split("Question:")
        assert f"[1] {TITLE}, page 5" in slides
        assert "Four times as many measurements halve the standard error." in slides
        assert "Exercise sheet 3" not in slides
        assert question.strip() == "What does the standard error tell?"
        assert source_names(answer)[0] == f"{TITLE}, page 5"

        await course.ask("When must we hand in sheet 3?")
        slides, _ = course.prompts[-1].split("Question:")
        assert f"[1] {TITLE}, page 8" in slides
        assert "before the lecture of 12 November" in slides


@pytest.mark.exhaustive
async def test_without_slides_there_is_no_answer_but_a_reason(tmp_path: Path) -> None:
    async with served(tmp_path, "course-assistant") as course:
        answer = await course.ask("What does the standard error tell?")

        assert "course-slides" in answer["error"]["message"]
        assert course.upstream.bodies == []
