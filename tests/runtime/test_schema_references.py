"""Schemas whose references expand: the check is bounded, and exact within its limits."""

import time
from itertools import pairwise
from typing import Any

import pytest
from heddle_runtime.contract.json_schema import Schema, SchemaError, UncheckableError

TREE = {
    "$defs": {
        "tree": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
            },
        }
    },
    "$ref": "#/$defs/tree",
}
TWICE = {
    "$defs": {
        "s": {
            "type": "object",
            "properties": {"x": {"anyOf": [{"$ref": "#/$defs/s"}, {"$ref": "#/$defs/s"}]}},
        }
    },
    "$ref": "#/$defs/s",
}


def chain(length: int, keyword: str = "anyOf") -> dict[str, Any]:
    """Return a schema in which each definition is twice the next."""
    names = [f"a{number}" for number in range(length + 1)]
    twice = {name: {keyword: [{"$ref": f"#/$defs/{next_}"}] * 2} for name, next_ in pairwise(names)}
    return {"$defs": twice | {names[-1]: {"type": "string"}}, "$ref": "#/$defs/a0"}


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"x": value}
    return value


@pytest.mark.parametrize("keyword", ["anyOf", "allOf", "oneOf"])
@pytest.mark.parametrize("length", [13, 20, 60])
def test_a_check_that_expands_without_end_stops(keyword: str, length: int) -> None:
    schema = Schema(chain(length, keyword))
    before = time.thread_time()

    with pytest.raises(UncheckableError, match="too many checks"):
        schema.errors(3)
    assert schema.fitting([3] * 1_000) == []
    assert time.thread_time() - before < 5  # minutes to ages otherwise


@pytest.mark.parametrize("depth", [16, 40, 5_000])
def test_a_check_that_expands_with_the_depth_of_a_value_stops(depth: int) -> None:
    before = time.thread_time()

    with pytest.raises(UncheckableError, match=r"too many checks|too deeply"):
        Schema(TWICE).errors(nested(depth))
    assert time.thread_time() - before < 5


def test_many_references_to_one_definition_all_count() -> None:
    schema = {"$defs": {"a": {"type": "string"}}, "items": {"allOf": [{"$ref": "#/$defs/a"}] * 900}}
    with pytest.raises(UncheckableError, match="too many checks"):
        Schema(schema).errors([3] * 1_000)


def test_a_check_that_expands_a_little_is_exact() -> None:
    assert [each.kind.name for each in Schema(chain(6)).errors(3)] == ["anyOf"]
    assert Schema(chain(13)).errors("text") == []
    assert Schema(chain(13)).fitting([3, "text"]) == ["text"]
    assert Schema(TWICE).errors({"x": {"x": {}}}) == []


def test_trees_are_checked_to_their_leaves() -> None:
    def tree(depth: int, leaf: dict[str, Any]) -> dict[str, Any]:
        inner = [tree(depth - 1, leaf) for _ in range(4)] if depth else [leaf]
        return {"name": "branch", "children": inner}

    schema = Schema(TREE)

    assert schema.errors(tree(5, {"name": "leaf"})) == []
    [wrong] = schema.errors({"name": "root", "children": [{"name": "a"}, {"name": 1}]})
    assert wrong.instance_path == ["children", 1, "name"]
    assert len(schema.errors(tree(5, {}))) == 4**5
    with pytest.raises(UncheckableError, match="it is invalid"):
        schema.errors(tree(7, {}))


def test_a_reference_may_be_written_with_escapes() -> None:
    schema = Schema({"$defs": {"a/b c": {"type": "string"}}, "$ref": "#/$defs/a~1b%20c"})
    assert [len(schema.errors(value)) for value in ("text", 3)] == [0, 1]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (chain(2_000), "more than 1000 references"),
        (nested(300), "nested more than 200 levels deep"),
        (nested(100_000), "nested"),
        ({"const": "x" * 250_000}, "more than 250,000 characters"),
        ({"$ref": "https://example.org/schema"}, "not fetched"),
    ],
)
def test_a_schema_beyond_a_limit_is_rejected(schema: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {
            "$defs": {n: {"anyOf": [{"$ref": f"#/$defs/{m}"} for m in "abc"]} for n in "abc"},
            "items": {"$ref": "#/$defs/a"},
        },
    ],
)
def test_a_schema_that_refers_to_itself_for_the_same_value_ends(schema: dict[str, Any]) -> None:
    assert Schema(schema).errors([3]) == []


def test_a_reference_may_name_an_anchor() -> None:
    schema = Schema({"$defs": {"a": {"$anchor": "a", "type": "string"}}, "$ref": "#a"})
    assert [len(schema.errors(value)) for value in ("text", 3)] == [0, 1]


def test_members_named_like_keywords_are_no_references() -> None:
    schema = Schema(
        {
            "properties": {"$ref": {"type": "string"}, "default": {"$ref": "#/$defs/a"}},
            "$defs": {"a": {"type": "integer"}},
            "const": {"$ref": "#/$defs/b", "default": 1},
        }
    )
    assert schema.errors({"$ref": "#/$defs/b", "default": 1}) == []
    assert len(schema.errors({"$ref": 1, "default": "x"})) == 3


def test_a_reference_beside_other_keywords_keeps_their_places() -> None:
    schema = Schema(
        {
            "allOf": [{"minimum": 1}],
            "$ref": "#/$defs/a",
            "$defs": {"a": {"maximum": 5}, "b": {"$ref": "#/allOf/0"}},
            "properties": {"x": {"$ref": "#/$defs/b"}},
        }
    )
    assert [len(schema.errors(value)) for value in (0, 3, 6, {"x": 0})] == [1, 0, 1, 1]
