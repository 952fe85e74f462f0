"""`heddle_orchestrator.template`: one pass over the template, and nothing else is ever read."""

from collections.abc import Mapping

import pytest
from heddle_orchestrator.prompts.template import Template
from hypothesis import given
from hypothesis import strategies as st

SLOT = st.sampled_from(["context", "rubric", "file", "user_input", "1_context", "Ctx"])
TRAPS = ["{context}", "{rubric}", "{user_input}", "{", "}", "f'{x}'", "{{x}}", "{0}", "\\1", " "]
# Text that is out to confuse: braces, slot names, code, and anything else.
HOSTILE = st.one_of(
    st.text(),
    st.lists(
        st.sampled_from(
            [
                "{context}",
                "{rubric}",
                "{user_input}",
                "{",
                "}",
                "f'{name}'",
                "{{x}}",
                "{0}",
                "\\1",
                " ",
            ]
        )
    ).map("".join),
)


def render(template: str, slots: Mapping[str, str]) -> str:
    return Template(template).render(slots)


def test_names_are_replaced_and_set_apart_by_blank_lines() -> None:
    filled = render("Use {context} for {user_input}.", {"context": "C", "user_input": "U"})

    assert filled == "Use \n\nC\n\n for \n\nU\n\n."


def test_a_name_without_text_is_removed_without_blank_lines() -> None:
    assert render("a {file} b {rubric} c", {"file": ""}) == "a  b  c"


@pytest.mark.parametrize("literal", ["{0}", "{1,3}", "{ x }", "{}", "{a-b}", "{'k': 1}", "{a.b}"])
def test_braces_that_hold_no_name_stay(literal: str) -> None:
    assert render(f"re: {literal}", {}) == f"re: {literal}"


@pytest.mark.parametrize("name", ["1_context", "Ctx", "my_tool_2"])
def test_older_forms_of_names_are_names(name: str) -> None:
    assert render(f"<{{{name}}}>", {name: "x"}) == "<\n\nx\n\n>"
    assert render(f"<{{{name}}}>", {}) == "<>"


@given(pieces=st.lists(st.tuples(SLOT, HOSTILE), max_size=6, unique_by=lambda piece: piece[0]))
def test_what_is_put_in_arrives_byte_for_byte_and_pulls_nothing_in(
    pieces: list[tuple[str, str]],
) -> None:
    slots = dict(pieces)
    template = "|".join(f"{{{name}}}" for name in slots)

    filled = render(template, slots)

    assert filled == "|".join(f"\n\n{text}\n\n" if text else "" for text in slots.values())


@given(text=HOSTILE)
def test_a_thousand_names_in_the_input_do_not_multiply_it(text: str) -> None:
    filled = render("{user_input}", {"user_input": text * 50, "context": "c" * 10_000})

    assert len(filled) <= len(text) * 50 + 4


def test_names_are_told_in_the_order_of_the_template() -> None:
    assert Template("{b} {a} {0} {b} {{c}}").slots() == ["b", "a", "b"]


@given(
    pieces=st.lists(st.tuples(SLOT, HOSTILE), max_size=6, unique_by=lambda piece: piece[0]),
    template=st.lists(st.one_of(SLOT.map("{{{}}}".format), HOSTILE)).map("".join),
)
def test_the_length_is_known_before_rendering(pieces: list[tuple[str, str]], template: str) -> None:
    slots = dict(pieces)

    for syntax in (Template(template), Template(template, frozenset(["context", "user_input"]))):
        assert syntax.rendered_length(slots) == len(syntax.render(slots))


@pytest.mark.parametrize(
    ("template", "rendered"),
    [
        ("{{user}}", "{user}"),
        ("{{user_input}} is {user_input}", "{user_input} is \n\nU\n\n"),
        ("{{{user_input}}}", "{{user_input}}"),
        ('{"a": {"b": 1}}', '{"a": {"b": 1}}'),
        ("{{0}} {{ x }} {{}}", "{{0}} {{ x }} {{}}"),
    ],
)
def test_a_name_in_double_braces_is_text(template: str, rendered: str) -> None:
    assert render(template, {"user_input": "U"}) == rendered


@pytest.mark.parametrize(
    "text", [r"\frac{a}{b}", "{name}", "{{user}}", "{contexts}", "{Context}", "{ context }", "{}"]
)
def test_all_but_the_names_of_lambs_syntax_is_text(text: str) -> None:
    template = Template(f"{text}{{user_input}}{text}", frozenset(["user_input", "context"]))

    assert template.render({"user_input": "U", "name": "N"}) == f"{text}\n\nU\n\n{text}"


def test_an_empty_slot_of_lambs_syntax_leaves_its_blank_lines() -> None:
    template = Template("a{context}b", frozenset(["context"]))

    assert template.render({}) == "a\n\n\n\nb"


@given(
    pieces=st.lists(st.tuples(SLOT, st.text(min_size=1)), max_size=6),
    template=st.lists(st.one_of(SLOT.map("{{{}}}".format), HOSTILE)).map("".join),
    is_lamb=st.booleans(),
)
def test_the_places_of_the_texts_are_known(
    pieces: list[tuple[str, str]], template: str, *, is_lamb: bool
) -> None:
    slots = dict(pieces)
    syntax = Template(template, frozenset(["context", "user_input"]) if is_lamb else None)

    rendered = syntax.render(slots)

    for name, start, end in syntax.rendered_spans(slots):
        assert rendered[start:end] == slots[name]
