"""Configurations: checked as a whole, defaults filled in, values never repeated."""

from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.contract.struct_codec import from_struct
from heddle_runtime.errors import Violation
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_tools_service.definitions.checks import DefinitionError
from heddle_tools_service.definitions.schemas import CompiledSchema, schema_problems
from tools_service.serving import discovering, serving

UUID = "550e8400-e29b-41d4-a716-446655440000"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]*$"},
        "count": {"type": "integer", "default": 3, "minimum": 1, "maximum": 9},
        "kind": {"enum": ["a", "b"], "default": "a"},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "inner": {"$ref": "#/$defs/Inner", "default": {}},
        "list": {"type": "array", "items": {"$ref": "#/$defs/Inner"}, "uniqueItems": True},
    },
    "$defs": {
        "Inner": {
            "type": "object",
            "required": ["depth"],
            "properties": {"depth": {"type": "integer", "default": 1}, "unit": {"type": "string"}},
        }
    },
}


def violations(config: dict[str, Any], schema: dict[str, Any] = SCHEMA) -> list[Violation]:
    _, _, found = CompiledSchema(schema, dict).read(config)
    return found


def test_defaults_are_filled_in_also_inside() -> None:
    effective, _, found = CompiledSchema(SCHEMA, dict).read({"name": "ab", "list": [{"unit": "m"}]})

    assert found == []
    assert effective == {
        "name": "ab",
        "count": 3,
        "kind": "a",
        "inner": {"depth": 1},
        "list": [{"unit": "m", "depth": 1}],
    }


def test_the_given_configuration_and_the_schema_stay_as_they_were() -> None:
    given: dict[str, Any] = {"name": "ab", "list": [{}]}
    effective, _, _ = CompiledSchema(SCHEMA, dict).read(given)
    effective["inner"]["depth"] = 99

    assert given == {"name": "ab", "list": [{}]}
    assert SCHEMA["properties"]["inner"]["default"] == {}


def test_everything_that_is_wrong_is_told_at_once_with_its_path() -> None:
    config = {
        "count": 0,
        "kind": "c",
        "either": 1.5,
        "inner": {"depth": "x"},
        "list": [{}, {"depth": None}],
        "extra": 1,
    }

    assert violations(config) == [
        Violation("config.count", "must be at least 1"),
        Violation("config.either", "must be of type string or integer"),
        Violation("config.extra", "is not an option of this tool"),
        Violation("config.inner.depth", "must be of type integer"),
        Violation("config.kind", "must be 'a' or 'b'"),
        Violation("config.list[1].depth", "must be of type integer"),
        Violation("config.name", "is required"),
    ]


@pytest.mark.parametrize(
    ("config", "description"),
    [
        ({"name": "s"}, "must have at least 2 characters"),
        ({"name": "secret"}, "must have at most 5 characters"),
        ({"name": "SEC"}, "must match the pattern ^[a-z]*$"),
        ({"name": ["secret"]}, "must be of type string"),
        ({"name": "ab", "list": [{}, {}]}, "must not hold the same item twice"),
        ({"name": "ab", "count": 10}, "must be at most 9"),
    ],
)
def test_a_value_is_never_repeated(config: dict[str, Any], description: str) -> None:
    [violation] = violations(config)

    assert violation.description == description
    assert "secret" not in violation.description


def test_two_missing_options_are_told_once_each() -> None:
    schema = {"type": "object", "required": ["a", "b"]}

    assert violations({}, schema) == [
        Violation("config.a", "is required"),
        Violation("config.b", "is required"),
    ]


def test_a_schema_without_rules_takes_anything() -> None:
    assert violations({"anything": [1, {"x": None}]}, {}) == []


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "nonsense"}, "is not JSON Schema 2020-12, see type"),
        ({"properties": {"a": {"minimum": "x"}}}, "see properties/a/minimum"),
        ({"properties": {"a": {"pattern": "("}}}, "see properties/a/pattern: is no pattern"),
        ({"properties": {"a": {"$ref": "#/$defs/absent"}}}, "does not exist"),
        ({"$ref": "http://127.0.0.1:1/schema.json"}, "is not fetched"),
        ({"properties": {"a": {"items": [{"$ref": "file:///etc/passwd"}]}}}, "2020-12|document"),
        ("text", "is not a JSON object"),
    ],
)
def test_a_schema_that_cannot_serve_is_refused_with_what_to_mend(schema: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        CompiledSchema(schema, dict)


def test_a_wrong_schema_is_refused_with_the_place_and_the_rule_of_each_error() -> None:
    schema = {
        "properties": {"a": {"type": "nonsense"}, "b": {"minimum": "x"}},
        "$ref": "http://127.0.0.1:1/schema.json",
    }
    with pytest.raises(DefinitionError) as raised:
        CompiledSchema(schema, dict)

    assert "see properties/a/type: 'nonsense' is not one of ['array'," in str(raised.value)
    assert "see properties/b/minimum: 'x' is not of type 'number'" in str(raised.value)


@pytest.mark.parametrize(
    ("draft", "problems"),
    [
        ("http://json-schema.org/draft-07/schema#", []),
        ("https://json-schema.org/draft/2020-12/schema", ["properties/pair/items"]),
        ("http://127.0.0.1:1/schema.json", ["properties/pair/items"]),
    ],
)
def test_a_schema_is_checked_by_its_own_draft_and_unknown_ones_are_not_fetched(
    draft: str, problems: list[str]
) -> None:
    schema = {"$schema": draft, "properties": {"pair": {"items": [{"type": "string"}]}}}

    assert [each.partition(":")[0] for each in schema_problems(schema)] == problems


@pytest.mark.parametrize(
    ("forms", "description"),
    [
        (
            [{"type": "string"}, {"type": ["null", "integer"]}],
            "must be of type string or null or integer",
        ),
        ([{"type": "string", "minLength": 2}, {"type": "integer"}], "of type string or integer"),
        ([{"type": "string"}, {"minimum": 3}], "has none of the allowed forms"),
    ],
)
@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_forms_are_told_by_their_types_if_these_tell_them_apart(
    keyword: str, forms: list[Any], description: str
) -> None:
    [violation] = violations({"a": 1.5}, {"properties": {"a": {keyword: forms}}})

    assert description in violation.description


def test_a_hostile_pattern_of_an_option_ends() -> None:
    [violation] = violations({"a": "a" * 100 + "!"}, {"properties": {"a": {"pattern": "(a|aa)+$"}}})

    assert violation == Violation("config.a", "must match the pattern (a|aa)+$")


def test_a_value_that_is_nested_too_deeply_is_told_so() -> None:
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"a": deep}

    [violation] = violations({"a": deep}, {"properties": {"a": {"const": 1}}})

    assert violation.description.startswith("cannot be checked: ")


def test_a_schema_that_contains_itself_ends() -> None:
    schema = {"type": "object", "properties": {"next": {"$ref": "#/$defs/N", "default": {}}}}
    schema["$defs"] = {"N": {"type": "object", "properties": schema["properties"]}}

    effective, _, found = CompiledSchema(schema, dict).read({})

    assert found == []
    assert effective["next"]["next"] is not None


@pytest.mark.parametrize(
    ("name", "config", "fields"),
    [
        ("simple_rag", {"collections": ["1"], "top_k": 0}, ["config.top_k"]),
        ("simple_rag", {"collections": ["1"], "top_k": 21}, ["config.top_k"]),
        ("simple_rag", {"collections": ["1"], "threshold": 1.1}, ["config.threshold"]),
        ("simple_rag", {}, ["config.collections"]),
        ("simple_rag", {"collections": [4.5, "7"]}, ["config.collections[0]"]),
        ("simple_rag", {"collections": ["1"], "topk": 3}, ["config.topk"]),
        ("rubric", {"rubric_id": "x", "format": "xml"}, ["config.format"]),
        ("rubric", {"rubric_id": True}, ["config.rubric_id"]),
        (
            "single_file",
            {"file_path": 3, "max_chars": "many"},
            ["config.file_path", "config.max_chars"],
        ),
        ("no_tool", {"x": 1}, ["config.x"]),
    ],
)
async def test_validation_answers_with_the_violations(
    name: str, config: dict[str, Any], fields: list[str]
) -> None:
    response = await validate(name, config)

    assert [violation.field for violation in response.violations] == fields
    assert not response.HasField("effective_config")


@pytest.mark.parametrize(
    ("name", "config", "effective"),
    [
        (
            "simple_rag",
            {"collections": ["1"]},
            {
                "collections": ["1"],
                "top_k": 3,
                "threshold": 0,
                "reranking": "none",
                "only_relevant": False,
            },
        ),
        ("rubric", {"rubric_id": 42}, {"rubric_id": 42, "format": "markdown"}),
        ("rubric", {"rubric_id": UUID}, {"rubric_id": UUID, "format": "markdown"}),
        ("single_file", {"file_path": "a"}, {"file_path": "a", "max_chars": 50_000}),
        ("word_count", {}, {"minimum_length": 1}),
    ],
)
async def test_validation_fills_in_the_defaults(
    name: str, config: dict[str, Any], effective: dict[str, Any]
) -> None:
    response = await validate(name, config)

    assert not response.violations
    assert from_struct(response.effective_config) == effective


async def validate(name: str, config: dict[str, Any]) -> pb.ValidateToolConfigResponse:
    struct = Struct()
    struct.update(config)
    async with serving(discovering(None)) as client:
        request = pb.ValidateToolConfigRequest(name=name, config=struct)
        return await client.stub.ValidateToolConfig(request, **new_call_options(5))
