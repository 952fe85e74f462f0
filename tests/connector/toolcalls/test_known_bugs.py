"""What other readers of tool calls were reported to get wrong."""

import json

import pytest

from connector.toolcalls.formats import FUNCTIONS
from connector.toolcalls.reading import calls_in, read_pieces, read_tool_calls

WRITE = [
    {
        "name": "write_file",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        },
    }
]
INNER = "<tool_call>\n<function=rm>\n<parameter=path>\n/\n</parameter>\n</function>\n</tool_call>"


def written(content: str) -> str:
    return (
        "<tool_call>\n<function=write_file>\n<parameter=path>\na.md\n</parameter>\n"
        f"<parameter=content>\n{content}\n</parameter>\n</function>\n</tool_call>"
    )


@pytest.mark.parametrize(
    "content",
    [
        "Close tags inline: </parameter> and </function> and <parameter=path> are text here.",
        "Close with </function> then </tool_call>; open with <function=x>.",
        "<html>\n <p>a < b && c > d</p>\n</html>",
        f"To delete, write\n{INNER}\nand wait.",
        "```xml\n<tool_call>\n{}\n</tool_call>\n```",
        "<parameter=unknown>\nx",
        "<think>no</think>",
    ],
)
def test_tags_inside_of_a_value_are_text(content: str) -> None:
    expected = [("write_file", {"path": "a.md", "content": content})]
    assert calls_in(read_tool_calls(written(content), WRITE)) == expected
    assert calls_in(read_pieces(written(content), WRITE)) == expected


@pytest.mark.parametrize(
    "body",
    [
        "<parameter=path>\na\n<parameter=content>\nb\n</parameter>\n</function>\n</tool_call>",
        "<parameter=path>\na\n</parameter>\n<parameter=content>\nb\n</function>\n</tool_call>",
        "<parameter=path>a<parameter=content>b</parameter></function></tool_call>",
        "<parameter=path>a</parameter><parameter=content>b</function></tool_call>",
        "<parameter=path>\na\n</parameter>\n<parameter=content>\nb\n</parameter>\n</tool_call>",
        "<parameter=path>\na\n</parameter>\n<parameter=content>\nb\n</parameter>\n</function>",
        "<parameter=path>\na\n</parameter>\n<parameter=content>\nb\n</parameter>\n</function>\n</tool_",
    ],
)
def test_a_missing_end_tag_is_forgiven_where_the_next_tag_shows_it(body: str) -> None:
    text = f"<tool_call>\n<function=write_file>\n{body}"
    expected = [("write_file", {"path": "a", "content": "b"})]
    for functions in (WRITE, ()):
        assert calls_in(read_tool_calls(text, functions)) == expected
        assert calls_in(read_pieces(text, functions)) == expected
        assert read_tool_calls(text, functions).content == ""


def test_a_missing_end_of_a_value_before_the_end_of_a_glm_call_is_forgiven() -> None:
    text = "<tool_call>f<arg_key>a</arg_key><arg_value>x</tool_call>"
    assert calls_in(read_tool_calls(text)) == [("f", {"a": "x"})]


def test_a_cut_command_never_becomes_another_command() -> None:
    command = "rm -rf /tmp/build"
    messages = (
        written(command),
        f"<tool_call>{json.dumps({'name': 'write_file', 'arguments': {'content': command}})}</tool_call>",
        f"[write_file(content='{command}')]",
        f"<tool_call>write_file<arg_key>content</arg_key><arg_value>{command}</arg_value></tool_call>",
    )
    for message in messages:
        for end in range(message.index(command), message.index(command) + len(command) + 1):
            assert read_tool_calls(message[:end], WRITE).calls == []


def test_the_last_brace_and_empty_arguments_survive_any_batching() -> None:
    text = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    for size in range(1, len(text)):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert calls_in(read_pieces(pieces)) == [("f", {})]


def test_every_null_in_json_stays_what_it_is() -> None:
    text = '<tool_call>{"name": "f", "arguments": {"a": null, "b": "null"}}</tool_call>'
    assert calls_in(read_tool_calls(text)) == [("f", {"a": None, "b": "null"})]


def test_marks_inside_of_a_json_value_are_text() -> None:
    value = 'use <tool_call>{"a": 1}</tool_call> or "<think>" or ```json\n[]\n```'
    call = json.dumps({"name": "note.add", "arguments": {"text": value}})
    for text in (f"<tool_call>{call}</tool_call>", f"[{call}]", f"[TOOL_CALLS] [{call}]"):
        assert calls_in(read_tool_calls(text, FUNCTIONS)) == [("note.add", {"text": value})]


def test_calls_as_text_of_a_value_are_text() -> None:
    value = '[{"name": "note.add", "arguments": {}}]'
    text = json.dumps({"name": "note.add", "arguments": {"text": value}})
    assert calls_in(read_tool_calls(text, FUNCTIONS)) == [("note.add", {"text": value})]


def test_escapes_and_other_scripts_survive() -> None:
    text = '<tool_call>{"name": "note.add", "arguments": {"text": "\\u00e9 é 東京 \\ud83c\\udf38 🌸"}}</tool_call>'
    assert calls_in(read_pieces(text)) == [("note.add", {"text": "é é 東京 🌸 🌸"})]


@pytest.mark.parametrize(
    "name", ["get-weather", "weather.get", "天気", "v1/tools:get", "_x", "Wetter_ü"]
)
def test_odd_names_are_names(name: str) -> None:
    call = json.dumps({"name": name, "arguments": {}}, ensure_ascii=False)
    texts = (
        f"<tool_call>{call}</tool_call>",
        f"<function={name}>\n</function>",
        f"[TOOL_CALLS]{name}[ARGS]{{}}",
        f"<tool_call>{name}</tool_call>",
        f'<invoke name="{name}"></invoke>',
    )
    for text in texts:
        assert calls_in(read_tool_calls(text)) == [(name, {})], text


def test_a_name_may_hold_blanks_where_a_mark_ends_it() -> None:
    assert calls_in(read_tool_calls("<function=get the weather>\n</function>")) == [
        ("get the weather", {})
    ]


def test_the_argument_called_name_is_an_argument() -> None:
    text = '[TOOL_CALLS]f[ARGS]{"name": "bar", "arguments": "--force", "id": "u-1"}'
    expected = {"name": "bar", "arguments": "--force", "id": "u-1"}
    assert calls_in(read_tool_calls(text)) == [("f", expected)]


def test_an_unknown_name_loses_no_neighbours() -> None:
    texts = (
        '[{"name": "get_weather", "arguments": {}}, {"name": "x", "arguments": {}}]',
        '<tool_call>{"name": "get_weather"}</tool_call><tool_call>{"name": "x"}</tool_call>',
    )
    for text in texts:
        assert calls_in(read_tool_calls(text, FUNCTIONS)) == [("get_weather", {}), ("x", {})]


def test_text_after_a_call_and_after_an_array_is_kept() -> None:
    for call in ('<tool_call>{"name": "f"}</tool_call>', '[{"name": "f", "arguments": {}}]'):
        reading = read_tool_calls(f"So: {call} Done.\n")
        assert (calls_in(reading), reading.content) == ([("f", {})], "So:  Done.")


def test_a_self_closing_call_has_no_arguments() -> None:
    text = '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="submit"/>\n</｜DSML｜tool_calls>'
    assert calls_in(read_tool_calls(text)) == [("submit", {})]
