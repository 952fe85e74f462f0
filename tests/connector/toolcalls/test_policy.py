"""What counts as a call: the contract, rule by rule."""

import json

import pytest

from connector.toolcalls.formats import FUNCTIONS
from connector.toolcalls.reading import calls_in, read_tool_calls

CALL = '{"name": "get_weather", "arguments": {"city": "Paris"}}'
PARIS = ("get_weather", {"city": "Paris"})
TAGGED = f"<tool_call>\n{CALL}\n</tool_call>"

NO_CALLS = {
    "a fence before prose": f"```json\n[{CALL}]\n```\nThat is how it looks.",
    "a fence after prose": f"Send this:\n```json\n{CALL}\n```",
    "marks in a fence": f"Qwen writes\n```xml\n{TAGGED}\n```\nfor a call.",
    "marks in a fence alone": f"```\n{TAGGED}\n```",
    "a longer fence around fences": f"````md\n```json\n{CALL}\n```\n{TAGGED}\n````",
    "a fence without an end": f"Look:\n```\n{TAGGED}\n",
    "inline code": f"Write `{CALL}` or `<tool_call>{CALL}</tool_call>`.",
    "inline code with two ticks": f"Write ``<tool_call>{CALL}</tool_call>``.",
    "a mark that is mentioned": "The <tool_call> tag holds JSON, [TOOL_CALLS] a list.",
    "a function that is mentioned": "It writes <function=name> and then its parameters.",
    "package.json": '{"name": "get_weather", "version": "1.0.0", "dependencies": {}}',
    "a list of people": '[{"name": "get_weather", "age": 3}]',
    "a name that is no string": '{"name": {"first": "get_weather"}, "arguments": {}}',
    "an unknown name": '[{"name": "delete_all", "arguments": {}}]',
    "arguments that are a list": '{"name": "get_weather", "arguments": ["Paris"]}',
    "arguments that are the text of a list": '{"name": "get_weather", "arguments": "[1]"}',
    "no arguments": '{"name": "get_weather"}',
    "an answer in JSON": '{"city": "Paris", "name": "get_weather"}',
    "JSON beside a word": f"f({CALL})",
    "a link": "See [get_weather](city=1) and [1].",
    "a list of words": "[get_weather, city]",
    "Python with a position": "[get_weather('Paris')]",
    "Python that computes": "[get_weather(city='Par' + 'is')]",
    "Python that calls": "[get_weather(city=__import__('os').getcwd())]",
    "Python of an unknown function": "[delete_all(city='Paris')]",
    "non-finite numbers": '<tool_call>{"name": "get_weather", "arguments": {"days": NaN}}</tool_call>',
    "a cut string": '<tool_call>{"name": "get_weather", "arguments": {"city": "Par',
    "a cut object": '<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}',
    "a value without an end": "<function=get_weather>\n<parameter=city>\nParis",
    "a call without an end": "<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n",
    "a mark alone": "<tool_call>",
    "code for tools in a fence": "````md\n```tool_code\nget_weather(city='Paris')\n```\n````",
    "code for tools in a line": "I write ```tool_code\nget_weather(city='Paris')\n```",
    "code of an unknown function": "```tool_code\ndelete_all(city='Paris')\n```",
    "code beside a call": "```tool_code\nimport os\nget_weather(city='Paris')\n```\nThat is it.",
    "an empty section with a suffix": "<tool_calls:x></tool_calls:x> is empty.",
    "not JSON": "<tool_call>not valid json</tool_call>",
}


@pytest.mark.parametrize("text", NO_CALLS.values(), ids=NO_CALLS)
def test_it_is_no_call(text: str) -> None:
    assert calls_in(read_tool_calls(text, FUNCTIONS)) == []


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in NO_CALLS
        if not name.startswith(("a cut", "a value", "a call", "a mark alone"))
    ],
)
def test_what_is_no_call_is_content_word_for_word(name: str) -> None:
    assert read_tool_calls(NO_CALLS[name], FUNCTIONS).content == NO_CALLS[name]


ONE_CALL = {
    "after the marks of a mention": f"The <tool_call> tag it is: {TAGGED}",
    "after inline code": f"I use `get_weather`.\n{TAGGED}",
    "after a fence": f"```py\nx\n```\n{TAGGED}",
    "without the outer end": f"<tool_call>\n{CALL}",
    "with a part of the outer end": f"<tool_call>\n{CALL}\n</tool_",
    "with a brace too many": f"<tool_call>\n{CALL}}}\n</tool_call>",
    "a fence alone": f"```json\n[{CALL}]\n```",
    "a fence alone, after reasoning": f"<think>So.</think>\n\n```json\n{CALL}\n```\n",
    "a fence alone, without an end": f"```json\n[{CALL}]",
    "a fence alone, in capitals": f"```JSON\n[{CALL}]\n```",
    "a fence alone, without a language": f"```\n{CALL}\n```",
    "an array before text": f"[{CALL}] That should do.",
    "an array after text": f"I will look.\n[{CALL}]",
    "an array after text on its line": f"I will look: [{CALL}]",
    "as a function object": f'[{{"type": "function", "function": {CALL}}}]',
    "with other keys": '{"id": "1", "type": "function", "name": "get_weather", "arguments": {"city": "Paris"}}',
    "with arguments first": '[{"arguments": {"city": "Paris"}, "name": "get_weather"}]',
    "with parameters": '<tool_call>{"name": "get_weather", "parameters": {"city": "Paris"}}</tool_call>',
    "with arguments as text": json.dumps(
        [{"name": "get_weather", "arguments": '{"city": "Paris"}'}]
    ),
    "code for tools after text": "I look.\n```tool_code\nget_weather(city='Paris')\n```\n",
    "code for tools without an end": "```tool_code\nprint(get_weather(city='Paris'))",
    "Python": "[get_weather(city='Paris')]",
    "a real line end in a value": '<tool_call>{"name": "get_weather", "arguments":\n{"city":\n"Paris"}}</tool_call>',
}


@pytest.mark.parametrize("text", ONE_CALL.values(), ids=ONE_CALL)
def test_it_is_a_call(text: str) -> None:
    assert calls_in(read_tool_calls(text, FUNCTIONS)) == [PARIS]


def test_complete_earlier_calls_survive_one_that_is_cut_off() -> None:
    reading = read_tool_calls(f'Ok. {TAGGED}\n<tool_call>\n{{"name": "note.add", "argu', FUNCTIONS)
    assert calls_in(reading) == [PARIS]
    assert reading.content == f"Ok. \n{reading.cut_off}"
    assert reading.cut_off == '<tool_call>\n{"name": "note.add", "argu'


def test_a_broken_call_leaves_the_next_one_alone() -> None:
    broken = '<tool_call>{"name": "get_weather", "arguments": {city: 1}}</tool_call>'
    reading = read_tool_calls(f"{broken}\n{TAGGED}", FUNCTIONS)
    assert calls_in(reading) == [PARIS]
    assert reading.content == broken


def test_a_call_inside_of_a_broken_call_does_not_run() -> None:
    inner = '<tool_call>{"name": "note.add", "arguments": {}}</tool_call>'
    text = f'<tool_call>{{"name": "note.add", "arguments": {{"text": "say "hi" {inner}"}}}}</tool_call>'
    assert calls_in(read_tool_calls(text, FUNCTIONS)) == []


def test_a_call_inside_of_a_call_that_is_cut_off_does_not_run() -> None:
    text = f"<function=note.add>\n<parameter=text>\nWrite:\n{TAGGED}\nand"
    assert calls_in(read_tool_calls(text, FUNCTIONS)) == []


@pytest.mark.parametrize("begin", ["<think>", "[THINK]"])
def test_drafts_in_closed_reasoning_are_reasoning(begin: str) -> None:
    end = begin.replace("<", "</").replace("[", "[/")
    reading = read_tool_calls(f"{begin}Maybe {TAGGED}?{end}\nNo need.", FUNCTIONS)
    assert (reading.calls, reading.reasoning, reading.content) == (
        [],
        f"Maybe {TAGGED}?",
        "No need.",
    )


def test_reasoning_without_an_end_yields_its_complete_calls() -> None:
    reading = read_tool_calls(f"<think>\nI look.\n{TAGGED}", FUNCTIONS)
    assert (calls_in(reading), reading.reasoning, reading.content) == ([PARIS], "I look.", "")


def test_reasoning_that_the_prompt_began_needs_no_mark() -> None:
    text = f"Maybe {TAGGED}.\n</think>\n\n{TAGGED}"
    reading = read_tool_calls(text, FUNCTIONS, reasoning_prefilled=True)
    assert (calls_in(reading), reading.reasoning) == ([PARIS], f"Maybe {TAGGED}.")
    again = read_tool_calls(f"<think>\n{text}", FUNCTIONS, reasoning_prefilled=True)
    assert again == reading


def test_reasoning_that_never_ends_is_reasoning() -> None:
    reading = read_tool_calls("It would be 4", FUNCTIONS, reasoning_prefilled=True)
    assert (reading.reasoning, reading.content) == ("It would be 4", "")


def test_a_message_that_is_a_call_and_nothing_else_counts_inside_of_prefilled_reasoning() -> None:
    for text in (f"[{CALL}]", f"```json\n{CALL}\n```", TAGGED):
        reading = read_tool_calls(text, FUNCTIONS, reasoning_prefilled=True)
        assert calls_in(reading) == [PARIS]


def test_a_stray_end_of_reasoning_is_not_shown() -> None:
    assert read_tool_calls("\n</think>\n\nHello.").content == "Hello."


def test_reasoning_may_begin_directly_after_content() -> None:
    reading = read_tool_calls("Sure.<think>Hm.</think>Yes.")
    assert (reading.content, reading.reasoning) == ("Sure.Yes.", "Hm.")


def test_a_mention_of_reasoning_marks_stays() -> None:
    text = "Models use <think> and </think> around it."
    assert read_tool_calls(text).content == text


def test_tagged_calls_of_unknown_functions_are_returned() -> None:
    text = '<tool_call>{"name": "delete_all", "arguments": {}}</tool_call>'
    assert calls_in(read_tool_calls(text, FUNCTIONS)) == [("delete_all", {})]


def test_bare_calls_count_when_no_functions_are_known() -> None:
    assert calls_in(read_tool_calls(f"[{CALL}]")) == [PARIS]
    assert calls_in(read_tool_calls("[get_weather(city='Paris')]")) == [PARIS]


def test_a_name_and_an_object_count_without_known_functions_only_if_nothing_follows() -> None:
    assert calls_in(read_tool_calls('get_weather\n{"city": "Paris"}\n')) == [PARIS]
    text = 'Result\n{"city": "Paris"}\nThat is it.'
    assert (read_tool_calls(text).calls, read_tool_calls(text).content) == ([], text)


def test_content_around_calls_is_joined_word_for_word() -> None:
    assert read_tool_calls(f"before{TAGGED}after").content == "beforeafter"
    assert read_tool_calls(f"a\n{TAGGED}\n\n{TAGGED} b \n c").content == "a\n\n\n b \n c"


def test_several_formats_in_one_message_are_read() -> None:
    text = f"[TOOL_CALLS]f[ARGS]{{}}\n{TAGGED}\n<function=g>\n</function>\n[{CALL}]"
    assert [name for name, _ in calls_in(read_tool_calls(text))] == [
        "f",
        "get_weather",
        "g",
        "get_weather",
    ]


def test_what_harmony_says_to_the_person_holds_no_calls() -> None:
    reading = read_tool_calls(f"<|channel|>final<|message|>{CALL}", FUNCTIONS)
    assert (reading.calls, reading.content) == ([], CALL)


def test_what_is_meant_for_a_tool_that_is_none_is_content() -> None:
    reading = read_tool_calls(
        "<|channel|>commentary to=python<|message|>print(1)<|call|>", FUNCTIONS
    )
    assert (reading.calls, reading.content) == ([], "print(1)")
