"""Values that are written as bare text get the types that their schemas mean."""

from typing import Any

import pytest
from heddle_connector.toolcalls.coercion import coerce

from connector.toolcalls.reading import calls_in, read_pieces, read_tool_calls


def typed(*types: str) -> dict[str, Any]:
    return {"type": types[0] if len(types) == 1 else list(types)}


VALUES: list[tuple[str, object, Any]] = [
    ("5", None, "5"),
    ("null", None, "null"),
    ("5", {}, "5"),
    ("5", typed("string"), "5"),
    ("null", typed("string"), "null"),
    (" padded ", typed("string"), " padded "),
    ("02139", typed("string"), "02139"),
    ("5", typed("integer"), 5),
    ("-5", typed("integer"), -5),
    ("5.0", typed("integer"), 5),
    ("5.5", typed("integer"), "5.5"),
    ("123_456", typed("integer"), "123_456"),
    ("٣", typed("integer"), "٣"),
    ("9" * 5000, typed("integer"), "9" * 5000),
    ("1e20", typed("number"), 1e20),
    ("5", typed("number"), 5),
    ("inf", typed("number"), "inf"),
    ("nan", typed("number"), "nan"),
    ("1e999", typed("number"), "1e999"),
    ("True", typed("boolean"), True),
    ("FALSE", typed("boolean"), False),
    ("1", typed("boolean"), True),
    ("0", typed("boolean"), False),
    ("yes", typed("boolean"), "yes"),
    ("null", typed("null"), None),
    ("null", typed("string", "null"), None),
    ("nothing", typed("string", "null"), "nothing"),
    ("null", {"type": "integer", "default": None}, None),
    ("null", {"type": "integer", "nullable": True}, None),
    ("42", typed("string", "integer"), 42),
    ("42", {"anyOf": [{"type": "string"}, {"type": "null"}]}, "42"),
    ("4x", {"oneOf": [{"type": "integer"}, {"type": "string"}]}, "4x"),
    ('{"a": [1]}', typed("object"), {"a": [1]}),
    ("{'a': [1, True, None]}", typed("object"), {"a": [1, True, None]}),
    ('{"a": 1}', typed("string"), '{"a": 1}'),
    ("{broken", typed("object"), "{broken"),
    ("[1, 2]", typed("array"), [1, 2]),
    ("(1, 'x')", typed("array"), [1, "x"]),
    ("[" * 500 + "]" * 500, typed("array"), "[" * 500 + "]" * 500),
    ("__import__('os')", typed("object"), "__import__('os')"),
    ("5", {"enum": [1, 5]}, 5),
    ("red", {"enum": ["red"]}, "red"),
    ("5", {"const": 5}, 5),
    ("true", {"type": "string", "enum": ["True", "dontcare"]}, True),
    ("5", {"$ref": "#/$defs/count"}, 5),
    ("5", {"$ref": "#/$defs/loop"}, "5"),
    ("5", {"$ref": "#/$defs/none"}, "5"),
    *((value, typed(alias), {"a": 1}) for value in ['{"a": 1}'] for alias in ("dict", "HashMap")),
    *(("[1]", typed(alias), [1]) for alias in ("list", "tuple", "ArrayList", "list[int]", "Array")),
    *(("5", typed(alias), 5) for alias in ("int", "long", "Integer", "float", "double", "any")),
    *(("5", typed(alias), "5") for alias in ("String", "char", "str", "varchar(255)", "Widget")),
    *(("true", typed(alias), True) for alias in ("bool", "Boolean")),
    ("free text", typed("any"), "free text"),
]
ROOT = {
    "$defs": {"count": {"type": "integer"}, "loop": {"$ref": "#/$defs/loop"}},
}


@pytest.mark.parametrize(("text", "schema", "expected"), VALUES)
def test_a_text_becomes_what_its_schema_says(text: str, schema: object, expected: Any) -> None:
    value = coerce(text, schema, ROOT)
    assert (value, type(value)) == (expected, type(expected))


def test_one_line_end_on_each_side_belongs_to_the_format() -> None:
    functions = [{"name": "f", "parameters": {"properties": {"a": {"type": "string"}}}}]
    for written, meant in {
        "\nx\n": "x",
        "\n\n  x  \n\n": "\n  x  \n",
        "x": "x",
        "": "",
        "\n": "",
        "\r\nx\r\n": "x",
    }.items():
        text = f"<function=f>\n<parameter=a>{written}</parameter>\n</function>"
        assert calls_in(read_tool_calls(text, functions)) == [("f", {"a": written and meant})]


def test_arguments_in_json_keep_the_types_that_the_model_gave_them() -> None:
    functions = [{"name": "f", "parameters": {"properties": {"a": {"type": "integer"}}}}]
    text = '<tool_call>{"name": "f", "arguments": {"a": "20"}}</tool_call>'
    assert calls_in(read_tool_calls(text, functions)) == [("f", {"a": "20"})]


def test_deepseek_says_itself_what_is_a_string() -> None:
    text = (
        '<｜DSML｜invoke name="f"><｜DSML｜parameter name="a" string="true">1</｜DSML｜parameter>'
        '<｜DSML｜parameter name="b" string="false">1</｜DSML｜parameter></｜DSML｜invoke>'
    )
    assert calls_in(read_tool_calls(text)) == [("f", {"a": "1", "b": 1})]


def test_nested_elements_are_objects_and_arrays() -> None:
    mark = "]<]minimax[>["
    inner = "".join(
        f"{mark}<item>{mark}<sku>{sku}{mark}</sku>{mark}<n>{n}{mark}</n>{mark}</item>"
        for sku, n in (("a", 1), ("b", 2))
    )
    text = (
        f'{mark}<tool_call>{mark}<invoke name="order">{mark}<items>{inner}{mark}</items>'
        f"{mark}<to>{mark}<city>Oslo{mark}</city>{mark}</to>{mark}</invoke>{mark}</tool_call>"
    )
    item = {"type": "object", "properties": {"n": {"type": "integer"}}}
    functions = [
        {"name": "order", "parameters": {"properties": {"items": {"type": "array", "items": item}}}}
    ]
    expected = {"items": [{"sku": "a", "n": 1}, {"sku": "b", "n": 2}], "to": {"city": "Oslo"}}
    assert calls_in(read_tool_calls(text, functions)) == [("order", expected)]
    assert calls_in(read_pieces(text, functions)) == [("order", expected)]


def test_python_values_are_read_by_a_grammar() -> None:
    text = (
        "[f(a='Martha\\'s', b=\"\\u00e9\\n\", c=[1, -2.5, 1e3, (True, None)], d={'k': {'l': []}, 1: 2},"
        " e='one' ' two', f=r'\\d', g=false, )]"
    )
    assert calls_in(read_tool_calls(text)) == [
        (
            "f",
            {
                "a": "Martha's",
                "b": "é\n",
                "c": [1, -2.5, 1000.0, [True, None]],
                "d": {"k": {"l": []}, "1": 2},
                "e": "one two",
                "f": "\\d",
                "g": False,
            },
        )
    ]


@pytest.mark.parametrize(
    "value",
    *[
        [
            "1 + 1",
            "x",
            "f()",
            "[1, 2",
            "{1, 2}",
            "{'a'}",
            "[1 2]",
            "'a' 1",
            "lambda: 1",
            "1e999",
            "]",
        ]
    ],
)
def test_what_is_no_value_in_python_is_no_call(value: str) -> None:
    assert read_tool_calls(f"[f(a={value})]").calls == []


def test_gemma_writes_keys_with_blanks_and_values_without_quotes() -> None:
    text = (
        '<|tool_call>call:f{key one:<|"|>x,y} "q"<|"|>,b:{c:[1,{d:null}]},e:plain word}<tool_call|>'
    )
    assert calls_in(read_tool_calls(text)) == [
        ("f", {"key one": 'x,y} "q"', "b": {"c": [1, {"d": None}]}, "e": "plain word"})
    ]
