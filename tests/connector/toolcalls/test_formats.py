"""Every format of the table is read, whatever stands in it and around it."""

import json

import pytest
from heddle_connector.toolcalls import FORMATS

from connector.toolcalls.formats import FUNCTIONS, WRITINGS, Writing
from connector.toolcalls.reading import calls_in, read_pieces, read_tool_calls

PARIS = ("get_weather", {"city": "Paris", "days": 3})
OSLO = ("get_weather", {"city": "Oslo"})
NOTE = ("note.add", {"text": "Zoë's «café» 東京 🌸"})
MARKS = ("note.add", {"text": "wrap it in <tool_call> and </tool_call>, or <function=f> and [TOOL_CALLS]"})  # fmt: skip
each_format = pytest.mark.parametrize("writing", WRITINGS, ids=lambda writing: writing.id)


@each_format
def test_a_call_is_read_at_once_and_one_character_at_a_time(writing: Writing) -> None:
    message = writing.message(PARIS)
    whole = read_tool_calls(message, FUNCTIONS)
    assert calls_in(whole) == [PARIS]
    assert (whole.content, whole.reasoning, whole.cut_off) == ("", "", "")
    assert read_pieces(message, FUNCTIONS) == whole


@each_format
def test_parallel_calls_keep_their_order(writing: Writing) -> None:
    reading = read_tool_calls(writing.message(OSLO, PARIS, OSLO), FUNCTIONS)
    assert calls_in(reading) == [OSLO, PARIS, OSLO]
    assert reading.content == ""


@each_format
def test_prose_around_calls_is_content(writing: Writing) -> None:
    if writing.alone:
        pytest.skip("a fence with prose around it is an example")
    if writing.id == "functionary_v3.2":
        pytest.skip("a name without a mark is one only at the beginning")
    reading = read_tool_calls(f"Let me see.\n{writing.message(PARIS)}\nDone.", FUNCTIONS)
    assert calls_in(reading) == [PARIS]
    assert reading.content.split() == ["Let", "me", "see.", "Done."]


@each_format
@pytest.mark.parametrize(
    "begin", ["<think>\nWhich city?\n</think>\n\n", "[THINK]Which city?[/THINK]"]
)
def test_calls_follow_reasoning(writing: Writing, begin: str) -> None:
    reading = read_tool_calls(begin + writing.message(PARIS, OSLO), FUNCTIONS)
    assert calls_in(reading) == [PARIS, OSLO]
    assert (reading.reasoning, reading.content) == ("Which city?", "")


@each_format
def test_values_may_hold_any_script_and_quotes(writing: Writing) -> None:
    assert calls_in(read_tool_calls(writing.message(NOTE), FUNCTIONS)) == [NOTE]


@each_format
def test_values_may_hold_the_marks_of_calls(writing: Writing) -> None:
    assert calls_in(read_tool_calls(writing.message(MARKS, PARIS), FUNCTIONS)) == [MARKS, PARIS]


@each_format
def test_a_call_that_is_cut_off_is_no_call_and_none_is_invented(writing: Writing) -> None:
    message = writing.message(OSLO, PARIS)
    expected = [OSLO, PARIS]
    for end in range(len(message)):
        reading = read_tool_calls(message[:end], FUNCTIONS)
        assert calls_in(reading) == expected[: len(reading.calls)], message[:end]
    cut = read_tool_calls(message[: message.rindex("Paris") + 2], FUNCTIONS)
    whole_list = writing.alone or writing.id == "llama_pythonic" or writing.format == "gemma3"
    assert calls_in(cut) == ([] if whole_list else [OSLO])


@each_format
def test_a_format_can_be_chosen(writing: Writing) -> None:
    reading = read_tool_calls(writing.message(PARIS), FUNCTIONS, formats=[writing.format])
    assert calls_in(reading) == [PARIS]


def test_every_row_of_the_table_has_an_example() -> None:
    assert {writing.format for writing in WRITINGS} == {row.name for row in FORMATS}


def test_what_is_not_chosen_is_text() -> None:
    message = json.dumps({"name": "get_weather", "arguments": {}})
    tagged = f"<tool_call>{message}</tool_call>"
    assert read_tool_calls(tagged, FUNCTIONS, formats=["mistral"]).content == tagged


def test_an_unknown_format_is_refused_by_name() -> None:
    with pytest.raises(
        ValueError, match="There is no tool-call format 'qwen9'; there are: apertus"
    ):
        read_tool_calls("", formats=["qwen9"])
