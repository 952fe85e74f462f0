"""Schemas whose references unfold: what is too much is told at once, what is not is checked."""

import time
from itertools import pairwise
from typing import Any

import pytest
from heddle_runtime.json_schema import Schema, SchemaError, UncheckableError

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
def test_what_unfolds_without_end_is_not_waited_for(keyword: str, length: int) -> None:
    schema = Schema(chain(length, keyword))
    before = time.thread_time()

    with pytest.raises(UncheckableError, match="too intricate"):
        schema.errors(3)
    assert schema.fitting([3] * 1_000) == []
    assert time.thread_time() - before < 5  # minutes to ages otherwise


@pytest.mark.parametrize("depth", [16, 40, 5_000])
def test_nor_is_what_unfolds_with_the_depth_of_a_value(depth: int) -> None:
    before = time.thread_time()

    with pytest.raises(UncheckableError, match=r"too intricate|too deeply"):
        Schema(TWICE).errors(nested(depth))
    assert time.thread_time() - before < 5


def test_many_references_to_one_place_are_as_much_as_they_unfold_to() -> None:
    schema = {"$defs": {"a": {"type": "string"}}, "items": {"allOf": [{"$ref": "#/$defs/a"}] * 900}}
    with pytest.raises(UncheckableError, match="too intricate"):
        Schema(schema).errors([3] * 1_000)


def test_what_unfolds_a_little_is_checked() -> None:
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
    with pytest.raises(UncheckableError, match="does not fit"):
        schema.errors(tree(7, {}))


def test_a_reference_may_be_written_with_escapes() -> None:
    schema = Schema({"$defs": {"a/b c": {"type": "string"}}, "$ref": "#/$defs/a~1b%20c"})
    assert [len(schema.errors(value)) for value in ("text", 3)] == [0, 1]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"$ref": "#"}, "refers to itself"),
        (
            {"$defs": {n: {"anyOf": [{"$ref": f"#/$defs/{m}"} for m in "abc"]} for n in "abc"}},
            None,  # nobody refers to them
        ),
        (
            {
                "$defs": {n: {"anyOf": [{"$ref": f"#/$defs/{m}"} for m in "abc"]} for n in "abc"},
                "items": {"$ref": "#/$defs/a"},
            },
            "refers to itself",
        ),
        ({"$defs": {"a": {"$anchor": "a"}}, "$ref": "#a"}, "'#a' is not supported, write #/"),
        ({"$defs": {"a": {"$id": "b"}}, "items": {"$ref": "#/$defs/a"}}, "an \\$id of its own"),
        (chain(2_000), "too deeply"),
    ],
)
def test_what_cannot_be_unfolded_is_refused(schema: dict[str, Any], message: str | None) -> None:
    if message is None:
        assert Schema(schema).errors([3]) == []
        return
    with pytest.raises(SchemaError, match=message):
        Schema(schema)
