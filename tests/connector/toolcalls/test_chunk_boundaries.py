"""A message means the same wherever it is cut into pieces."""

import itertools

import pytest
from heddle_connector.toolcalls import CallRead, ContentPiece, ReasoningPiece, ToolCallReader
from heddle_connector.toolcalls.formats import FORMATS
from hypothesis import given
from hypothesis import strategies as st
from runtime.examples import examples, sampled

from connector.toolcalls.formats import FUNCTIONS, WRITINGS, Writing
from connector.toolcalls.reading import read_pieces, read_tool_calls

CALLS = (("get_weather", {"city": "Zürich", "days": 2}), ("note.add", {"text": "a <b> `c`"}))
EXAMPLES = {
    **{writing.id: writing.message(*CALLS) for writing in WRITINGS},
    **{
        f"{writing.id}, with prose": f"<think>\nHm.\n</think>\n\nSo:\n{writing.message(CALLS[0])} ok"
        for writing in WRITINGS
    },
    "prose": "It costs 3 < 4 [1], `f(x)` and {a: b}.\n\n- one\n- two  \n",
    "fences": 'Try:\n```json\n{"name": "get_weather", "arguments": {}}\n```\nor\n```\n<tool_call>\n```',
    "a fence that more ticks end": "```js\na\n````\n<function=get_weather>\n</function>\n```\nb",
    "a fence alone that is no call": '```json\n{"name": "app", "version": "1"}\n```\n',
    "drafts in reasoning": '<think><tool_call>{"name": "f", "arguments": {}}</tool_call></think>No.',
    "reasoning without an end": 'Hm <tool_call>{"name": "f", "arguments": {}}</tool_call> and',
    "broken": '<tool_call>{"name": "f", "arguments": {x}}</tool_call>\n<tool_call>{"name": "g"}',
    "several formats": "[TOOL_CALLS]f[ARGS]{}\n<function=g>\n</function>\n[get_weather(days=1)]",
    "harmony": "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>Yes",
}
UNMARKED = (
    *("xlam", "xlam, objects", "xlam, fenced", "qwen2.5_coder, fenced objects", "llama_pythonic"),
    *("llama_json without tag", "functionary_v3.2", "phi4_mini", "gigachat3", "muse"),
)
FRAGMENTS = sorted(
    {
        *(
            part
            for row in FORMATS
            for part in (row.head.split("{")[0], *row.delimiters, *row.closers)
        ),
        *("<think>", "</think>", "[THINK]", "<|channel>thought", "</function>", "<parameter=a>"),
        *("</parameter>", "<arg_key>a</arg_key>", "<arg_value>", "</arg_value>", '<|"|>', "[ARGS]"),
        *(
            '{"name": "f", "arguments": {"a": 1}}',
            "[get_weather(days=1)]",
            '{"a": ',
            "get_weather\n",
        ),
        *(
            *"f \n\"'{}[]()<>=:,;`/\\|",
            "```json\n",
            "\n```\n",
            ' name="f">',
            "json<|message|>",
            "é🌸",
        ),
        *("f>", "call:f{a:1}", "<tool_sep>", '<parameter name="a">', "</invoke>", "analysis"),
    }
)


@pytest.mark.parametrize("message", EXAMPLES.values(), ids=EXAMPLES)
@pytest.mark.parametrize("prefilled", sampled([False, True], 1))
def test_every_split_of_every_example_reads_the_same(message: str, prefilled: bool) -> None:
    whole = read_tool_calls(message, FUNCTIONS, reasoning_prefilled=prefilled)
    assert read_pieces(message, FUNCTIONS, prefilled=prefilled) == whole
    for cut in range(len(message) + 1):
        pieces = (message[:cut], message[cut:])
        assert read_pieces(pieces, FUNCTIONS, prefilled=prefilled) == whole, pieces


@given(st.sampled_from(sorted(EXAMPLES)), st.lists(st.integers(0, 600), max_size=20), st.booleans())
def test_any_number_of_cuts_reads_the_same(name: str, cuts: list[int], prefilled: bool) -> None:
    message = EXAMPLES[name]
    edges = [0, *sorted(min(cut, len(message)) for cut in cuts), len(message)]
    pieces = [message[a:b] for a, b in itertools.pairwise(edges)]
    whole = read_tool_calls(message, FUNCTIONS, reasoning_prefilled=prefilled)
    assert read_pieces(pieces, FUNCTIONS, prefilled=prefilled) == whole


@given(
    st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=4), max_size=14),
    st.booleans(),
    st.booleans(),
)
@examples(400)
def test_no_text_raises_or_depends_on_its_cuts(
    pieces: list[str], known: bool, prefilled: bool
) -> None:
    functions = FUNCTIONS if known else ()
    message = "".join(pieces)
    whole = read_tool_calls(message, functions, reasoning_prefilled=prefilled)
    assert read_pieces(pieces, functions, prefilled=prefilled) == whole
    assert read_pieces(message, functions, prefilled=prefilled) == whole


@given(st.text(alphabet="abc <[{`\n\"':=|"))
def test_what_holds_no_mark_is_passed_on_unchanged(text: str) -> None:
    assert read_pieces(text, FUNCTIONS).content == text


@pytest.mark.parametrize("writing", WRITINGS, ids=lambda writing: writing.id)
def test_no_mark_and_no_beginning_of_one_is_ever_passed_on(writing: Writing) -> None:
    message = writing.message(*CALLS)
    reader = ToolCallReader(FUNCTIONS)
    events: list[object] = []
    for end, piece in enumerate(message, 1):
        events += reader.feed(piece)
        shown = "".join(event.text for event in events if isinstance(event, ContentPiece))
        assert len([event for event in events if isinstance(event, CallRead)]) <= len(CALLS)
        # Without a mark the beginning of a call is JSON, or a name; a few characters are no mark.
        if writing.id not in UNMARKED:
            assert len(shown) < 5, message[:end]


def test_plain_text_is_passed_on_at_once() -> None:
    reader = ToolCallReader(FUNCTIONS)
    assert [reader.feed(piece) for piece in ("Hello", ", wor", "ld", " and", " on")] == [
        [ContentPiece("Hello")],
        [ContentPiece(", wor")],
        [ContentPiece("ld")],
        [ContentPiece(" and")],
        [ContentPiece(" on")],
    ]


def test_reasoning_and_code_are_passed_on_as_they_come() -> None:
    reader = ToolCallReader(FUNCTIONS, reasoning_prefilled=True)
    assert reader.feed("I think") == [ReasoningPiece("I think")]
    assert reader.feed(" so.</think>See") == [ReasoningPiece(" so."), ContentPiece("See")]
    assert reader.feed("\n```py\nx = f(") == [ContentPiece("\n```py\nx = f(")]
    assert reader.feed("1)") == [ContentPiece("1)")]


def test_a_call_is_told_when_it_is_complete_not_when_the_message_ends() -> None:
    reader = ToolCallReader(FUNCTIONS)
    assert reader.feed('<tool_call>{"name": "f", "arguments": {"a": 1}') == []
    assert reader.feed("}") == [CallRead("f", {"a": 1})]
