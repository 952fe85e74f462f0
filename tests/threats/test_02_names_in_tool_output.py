"""Threat 2: what a tool finds holds names in braces, and pulls the texts of other tools in."""

from itertools import product
from pathlib import Path

from threats.model_prompts import assistants, prompt_of, quotation

PASSAGE = "see {rubric}, {user_input} and f'{name}'"
TOOLS = [quotation("context", PASSAGE), quotation("rubric", "THE RUBRIC {context}")]
TEMPLATE = "{context}|{rubric}|{user_input}|{unknown}"
STRATEGIES = ("sequential", "parallel")


async def test_the_order_of_tools_makes_no_difference_and_no_text_is_read_again(
    tmp_path: Path,
) -> None:
    documents = [
        {"prompt_template": TEMPLATE, "tools": tools, "strategy": strategy}
        for tools, strategy in product((TOOLS, TOOLS[::-1]), STRATEGIES)
    ]
    async with assistants(tmp_path, *documents) as client:
        prompts = {await prompt_of(client, number, "Why?") for number in range(1, 5)}

    assert prompts == {f"\n\n{PASSAGE}\n\n|\n\nTHE RUBRIC {{context}}\n\n|\n\nWhy?\n\n|"}


async def test_the_texts_of_one_slot_are_joined_in_the_order_of_the_tools(tmp_path: Path) -> None:
    first, second = quotation("context", "{first}"), quotation("context", "second")
    documents = [
        {"prompt_template": "{context}", "tools": tools, "strategy": strategy}
        for tools, strategy in product(([first, second], [second, first]), STRATEGIES)
    ]
    async with assistants(tmp_path, *documents) as client:
        prompts = [await prompt_of(client, number, "Why?") for number in range(1, 5)]

    assert prompts == [
        *["\n\n{first}\n\nsecond\n\n"] * 2,
        *["\n\nsecond\n\n{first}\n\n"] * 2,
    ]
