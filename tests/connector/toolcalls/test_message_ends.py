"""Marks of the end of a message."""

import pytest
from heddle_connector.toolcalls.reasoning import ENDS

from connector.toolcalls.formats import FUNCTIONS
from connector.toolcalls.reading import calls_in, read_pieces, read_tool_calls

TAGGED = '<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call>'

MENTIONS = (
    "The mark is {}",
    "ChatML writes {} and Llama another one.",
    "Marks:\n{}\nThat is all.",
    "It is called `{}`",
    "```\nHello.{}\n```",
    'It ends with "{}".',
    "- {}",
)


@pytest.mark.parametrize("end", [*ENDS, "<|return|>", "</s>\n<|im_end|>\n"])
def test_a_mark_at_the_end_is_not_shown(end: str) -> None:
    for text, content in (("Hello.", "Hello."), ("Hello\n", "Hello"), ("Hi", "Hi")):
        assert read_tool_calls(text + end).content == content
        assert read_pieces(text + end).content == content
    if end in ENDS:
        assert read_pieces(f"Hello. {end}").content == "Hello."


@pytest.mark.parametrize("end", ENDS)
def test_a_mark_after_a_call_is_not_shown(end: str) -> None:
    for text, content in ((TAGGED + end, ""), (f"{TAGGED}\n{end}\nMore.", "More.")):
        reading = read_pieces(text, FUNCTIONS)
        assert (calls_in(reading), reading.content) == (
            [("get_weather", {"city": "Paris"})],
            content,
        )


@pytest.mark.parametrize("end", ENDS)
def test_a_mark_that_the_text_mentions_stays(end: str) -> None:
    for form in MENTIONS:
        text = form.format(end)
        assert read_tool_calls(text).content == text
        assert read_pieces(text, FUNCTIONS).content == text


def test_struck_text_of_html_stays() -> None:
    assert read_tool_calls("Now 80, was <s>100</s>").content == "Now 80, was <s>100</s>"
    assert read_tool_calls("<s>100</s> 80.</s>").content == "<s>100</s> 80."
