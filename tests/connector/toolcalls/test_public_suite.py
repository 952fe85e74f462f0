"""The messages of a public suite for parsers of tool calls, from many models and engines."""

import pytest
from canitoolcall.fixtures import Fixture, load_fixtures

from connector.toolcalls.reading import read_pieces, read_tool_calls

FIXTURES = [
    fixture
    for fixture in load_fixtures()
    # Text between the marks of a section, and for a tool that is none, is content here: it is never
    # thrown away.
    if fixture.id
    not in ("kimi/k2i-vllm-noise-between-markers", "gpt-oss/llamacpp-builtin-python-recipient")
]


def prefilled(fixture: Fixture) -> bool:
    """Whether the prompt began the reasoning."""
    if fixture.expected is None or not fixture.expected.reasoning_content:
        return (fixture.generation_prompt or "").rstrip().endswith("<think>")
    marks = ("<think>", "[THINK]", "<|channel")
    return not any(mark in fixture.raw_output for mark in marks)


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.id)
def test_it_is_read_as_the_suite_expects(fixture: Fixture) -> None:
    functions = [tool["function"] for tool in fixture.tools]
    begun = prefilled(fixture)
    reading = read_tool_calls(fixture.raw_output, functions, reasoning_prefilled=begun)
    assert read_pieces(fixture.raw_output, functions, prefilled=begun) == reading
    if fixture.expected is None:
        assert reading.calls == []
        return
    expected = [(call.name, call.arguments) for call in fixture.expected.tool_calls]
    assert [(call.name, call.arguments) for call in reading.calls] == expected
    content = reading.content.removesuffix(reading.cut_off)  # the suite throws it away
    assert content.strip() == (fixture.expected.content or "").strip()
    assert reading.reasoning.strip() == (fixture.expected.reasoning_content or "").strip()


def test_the_suite_is_there() -> None:
    assert len(FIXTURES) > 400
