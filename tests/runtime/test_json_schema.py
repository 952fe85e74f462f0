"""Schemas of strangers: read like ECMA-262 says, and never for long."""

import time
from typing import Any

import jsonschema
import pytest
from heddle_runtime.contract.json_schema import Schema, SchemaError, UncheckableError

LONG = "a" * 5_000 + "!"
HOSTILE = [
    r"(a+)+$",
    r"^(a|a)*$",
    r"^(a|aa)+$",
    r"(a*)*b",
    r"^(([a-z])+.)+[A-Z]([a-z])+$",
    r"a[ab!]{4000}c",
    r"(\w{0,60}){0,60}c",
    # What looks around or refers back is beyond what can be matched in linear time.
    r"^(?=(a+)+$)",
    r"^((?=a)(a|a))*$",
    r"^(?:a(?!.*b)|a(?!.*c))+$",
    r"(?:(?=.*b)|(?=.*c))",
    r"^(a+)+\1$",
    r"(.*)(.*)(.*)(.*)\1\2\3\4c",
]


def broken(schema: dict[str, Any], value: object) -> list[tuple[str, str]]:
    """Return the places and what is wrong there."""
    found = Schema(schema).errors(value)
    return sorted((".".join(map(str, each.instance_path)), each.message) for each in found)


@pytest.mark.parametrize("pattern", HOSTILE)
@pytest.mark.parametrize("text", ["a" * 30 + "!", LONG, "a" * 100_000 + "!"], ids=len)
def test_a_hostile_pattern_ends(pattern: str, text: str) -> None:
    before = time.thread_time()
    errors = Schema({"pattern": pattern}).errors(text)

    assert time.thread_time() - before < 10  # minutes to centuries otherwise
    assert [each.kind.name for each in errors] == ["pattern"]


def test_many_hostile_patterns_end_together() -> None:
    inner = {f"p{number}": {"pattern": rf"a[ab]{{{4000 + number}}}c"} for number in range(50)}
    schema = Schema({"properties": inner})
    value = dict.fromkeys(inner, "ab" * 2_500)
    before = time.thread_time()
    found = schema.errors(value)

    assert time.thread_time() - before < 5
    assert len(found) == len(inner)
    assert {each.message for each in found} > {
        "cannot be checked: the patterns of the schema take too long"
    }
    # The next check starts anew.
    assert schema.errors({"p0": "a" + "b" * 4_000 + "c"}) == []


def test_many_values_share_one_budget() -> None:
    schema = Schema({"pattern": r"^(?:a(?!.*b)|a(?!.*c))+$"})
    before = time.thread_time()

    assert schema.fitting("a" * 100 + str(number) for number in range(20_000)) == []
    assert time.thread_time() - before < 5


def test_a_hostile_name_pattern_ends() -> None:
    schema = Schema({"patternProperties": {r"^(a+)+$": False}, "additionalProperties": False})
    before = time.thread_time()

    assert len(schema.errors({LONG: 1, "a": 2})) == 2
    assert time.thread_time() - before < 5


@pytest.mark.parametrize(
    ("pattern", "fits", "fails"),
    [
        (r"b", "abc", "ac"),
        (r"^[a-z]+$", "abc", "abC"),
        (r"^\d{4}-\d{2}$", "2026-11", "\u0662026-11"),
        (r"^a$", "a", "a\n"),
        (r"^(?!-)[a-z-]+(?<!-)$", "a-b", "-ab"),
        (r"^(?=.*\d)(?=.*[a-z]).{8,}$", "pass1234", "password"),
        (r"^(['\"]).*\1$", "'a'", "'a\""),
        (r"^\u0041$", "A", "B"),
        (r"^\u{1F600}$", "😀", "😁"),
        (r"^(?<year>\d{4})$", "2026", "26"),
        (r"^\p{Lu}\p{Ll}+$", "Àlex", "àlex"),
        (r"^a\/b$", "a/b", "ab"),
        (r"^[\p{L}\p{M} '-]{1,40}$", "José", "R2"),
        (r"^\S{1,500}$", "abc", "a c"),
    ],
)
def test_an_ordinary_pattern_is_searched_for(pattern: str, fits: str, fails: str) -> None:
    schema = {"type": "string", "pattern": pattern}

    assert broken(schema, fits) == []
    assert broken(schema, fails) == [("", f"must match the pattern {pattern}")]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["string", "null"], "minLength": 2},
        {"type": "integer", "minimum": 1, "exclusiveMaximum": 3},
        {"enum": [1, "ab", None]},
        {"const": 1.0},
        {"type": "object", "required": ["a"], "properties": {"a": {"type": "number"}}},
        {"patternProperties": {"^a": {"multipleOf": 0.5}}, "additionalProperties": False},
        {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "string"}},
        {"type": "array", "uniqueItems": True, "maxItems": 2, "contains": {"const": 1}},
        {"anyOf": [{"type": "boolean"}, {"minItems": 1}], "not": {"const": True}},
        {"if": {"type": "string"}, "then": {"pattern": "b"}, "else": {"maximum": 2}},
        {"$defs": {"x": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/x"}}},
        {"dependentRequired": {"a": ["b"]}, "propertyNames": {"maxLength": 1}},
        {"unevaluatedProperties": False, "allOf": [{"properties": {"a": {}}}]},
    ],
)
def test_a_schema_means_what_it_means_to_jsonschema(schema: dict[str, Any]) -> None:
    other = jsonschema.Draft202012Validator(schema)
    values: list[Any] = [None, True, False, 0, 1, 1.0, 2, 2.5, 3, "", "a", "ab", [], [1], ["b"]]
    values += [[1, "a"], [1, 1], [1, 2, 3], {}, {"a": 1}, {"a": "x"}, {"b": 1}, {"a": 0.3, "b": 2}]
    checked = Schema(schema)
    assert [not checked.errors(each) for each in values] == [
        other.is_valid(each) for each in values
    ]


def test_only_texts_have_a_pattern() -> None:
    assert broken({"pattern": "a"}, 3) == []


def test_a_plain_pattern_takes_a_long_text_and_another_does_not() -> None:
    assert broken({"pattern": r"\S"}, " " * 500_000 + "a") == []
    assert broken({"pattern": r"^(?!b)"}, "a" * 5_001) == [
        ("", "must have at most 5,000 characters, for the sake of its pattern")
    ]


@pytest.mark.parametrize("name", ["http://json-schema.org/draft-07/schema#", "http://127.0.0.1:1/"])
def test_a_part_of_another_draft_gets_no_other_engine(name: str) -> None:
    inner = {"$schema": name, "pattern": r"^((?=a)(a|a))*$"}
    before = time.thread_time()

    assert broken({"$schema": name, "$defs": {"x": inner}, "$ref": "#/$defs/x"}, LONG)
    assert time.thread_time() - before < 10


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "nonsense"}, "see type: "),
        ({"properties": {"a": {"pattern": "("}}}, "see properties/a/pattern: is no pattern of"),
        ({"pattern": r"\Aabc\Z"}, "see pattern: is no pattern of ECMA-262"),
        ({"pattern": "((a{1,900}){1,900}){1,900}"}, "or too large a one"),
        ({"pattern": "(" * 5_000 + ")" * 5_000}, "or too large a one"),
        ({"patternProperties": {"(": {}}}, r"see patternProperties/\(: "),
        ({"patternProperties": {"^(?!a)": {}}}, r"is not a \"regex\""),
        ({"allOf": [{"pattern": "a"}] * 101}, "is one of more than 100 patterns"),
        ({"$ref": "http://127.0.0.1:1/schema.json"}, "is not fetched"),
        ({"$ref": "file:///etc/passwd"}, "is not fetched"),
        ({"$ref": "#/$defs/absent"}, "does not exist"),
        ({"title": "\ud800"}, "see its root: "),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(schema: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema(schema)


def test_a_value_that_is_no_json_is_refused() -> None:
    with pytest.raises(UncheckableError, match="surrogates"):
        Schema({"enum": [1]}).errors({"a": "\ud800"})
    assert Schema({"minLength": 1}).fitting(["\ud800", "a"]) == ["a"]
