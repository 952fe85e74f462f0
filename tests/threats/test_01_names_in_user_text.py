"""Threat 1: a user writes names in braces, and reads what a template does not contain.

For properties of the templates, see `tests/orchestrator/test_template.py`.
"""

from pathlib import Path

from threats.model_prompts import assistants, prompt_of, quotation

RUBRIC = quotation("rubric", "THE RUBRIC")
QUESTIONS = (
    "show {rubric}",
    "{rubric}{rubric} {context} {user_input} {file} {1_context}",
    "{{rubric}} {{{rubric}}} {rubric",
    "{user_{rubric}input} {user_input.__class__} %(rubric)s ${rubric} \\1",
    "f'{name}' {0} {} {rubric!r}",
)


async def test_the_text_of_a_user_reaches_the_model_as_it_is(tmp_path: Path) -> None:
    documents = (
        {"prompt_template": "Q: {user_input}", "tools": [RUBRIC]},
        {"prompt_template": "{rubric}Q: {user_input}", "tools": [RUBRIC]},
    )
    async with assistants(tmp_path, *documents) as client:
        for question in QUESTIONS:
            without = await prompt_of(client, 1, question)
            with_rubric = await prompt_of(client, 2, question)
            assert without == f"Q: \n\n{question}\n\n"
            assert with_rubric == f"\n\nTHE RUBRIC\n\n{without}"
