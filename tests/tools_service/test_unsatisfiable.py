"""Schemas that no object fits, and functions that no call fits."""

from typing import Any

import pytest
from heddle_tools_service.definitions.unsatisfiable import contradictions, signature_problem


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "array"}, "accepts no JSON object"),
        ({"type": ["string", "null"]}, "accepts no JSON object"),
        ({"enum": []}, "accepts no JSON object"),
        ({"const": 1}, "accepts no JSON object"),
        ({"required": ["a"], "additionalProperties": False}, "requires 'a'"),
        ({"required": ["a"], "properties": {"a": False}}, "requires 'a'"),
        ({"required": ["a"], "properties": {"a": {"not": {}}}}, "requires 'a'"),
        ({"required": ["a"], "properties": {"a": {"enum": []}}}, "requires 'a'"),
        ({"minProperties": 2, "maxProperties": 1}, "has a minProperties above the maxProperties"),
        (
            {"required": ["a"], "properties": {"a": {"minimum": 2, "maximum": 1}}},
            "has a minimum above the maximum in 'a'",
        ),
        (
            {
                "required": ["a"],
                "properties": {"a": {"required": ["b"], "properties": {"b": False}}},
            },
            "requires 'b' in 'a'",
        ),
    ],
)
def test_a_contradiction_is_detected(schema: dict[str, Any], reason: str) -> None:
    [sentence] = contradictions(schema)
    assert sentence.startswith(reason)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": ["object", "null"], "required": ["a"]},
        {"required": ["a"], "additionalProperties": False, "patternProperties": {"^a": {}}},
        {"required": ["a"], "additionalProperties": False, "properties": {"a": {}}},
        {"properties": {"a": False}},
        {"properties": {"a": {"minimum": 2, "maximum": 1}}},
        {"required": ["a"], "properties": {"a": {"minimum": 1, "maximum": 1}}},
        {"enum": [1, {"a": 1}]},
        {"minimum": True, "maximum": False},
    ],
)
def test_what_some_object_fits_is_no_contradiction(schema: dict[str, Any]) -> None:
    assert not list(contradictions(schema))


@pytest.mark.parametrize(
    ("parameters", "fits"),
    [
        ("args, ctx, on_status", True),
        ("args, ctx, **more", True),
        ("*everything, on_status=None", True),
        ("args, ctx", False),
        ("args", False),
        ("args, ctx, other, on_status", False),
    ],
)
def test_a_signature_is_compared_with_the_call(parameters: str, *, fits: bool) -> None:
    namespace: dict[str, Any] = {}
    exec(f"async def handler({parameters}): ...", namespace)  # noqa: S102 - a text of this file
    problem = signature_problem(namespace["handler"], "args", "ctx", on_status="on_status")
    assert (problem == "") is fits
    assert fits or problem.startswith("cannot be called with (args, ctx, on_status=...): ")
