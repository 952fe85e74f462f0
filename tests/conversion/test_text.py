"""Stored text and versions."""

import math
from typing import Any

import pytest
from conversion.documents import METADATA
from heddle_conversion import (
    Conversion,
    LegacyColumns,
    MalformedMetadataError,
    NewerFormatError,
    convert,
    dump,
    parse,
    version_of,
)
from heddle_conversion.versions import STEPS
from heddle_runtime.errors import MalformedAssistantError
from hypothesis import given

NOTHING = LegacyColumns()


@pytest.mark.parametrize("text", [None, "", "  \n", "null", " null "])
def test_nothing_is_an_empty_object(text: str | None) -> None:
    assert parse(text) == {}


@pytest.mark.parametrize(
    "text",
    [
        *("not-json{", "[]", "3", '"{}"', "true", "{'a': 1}", '{"a": 1} x'),
        *('{"a": NaN}', '{"a": -Infinity}', '{"a": 1e400}', '{"a": [Infinity]}'),
        '{"a": ' + "9" * 4301 + "}",
        '{"a": ' + "[" * 40 + "]" * 40 + "}",
        '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}",
    ],
    ids=lambda text: f"{text[:20]}-{len(text)}",
)
def test_text_that_is_not_an_object_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(MalformedMetadataError) as refused:
        parse(text)

    assert isinstance(refused.value, MalformedAssistantError)
    assert "was not changed" in refused.value.message
    assert "not-json" not in refused.value.message
    assert refused.value.violations[0].field == "metadata"


@pytest.mark.parametrize("number", [2**53 + 1, -(10**4000), 0.1, 1e22, 5e-324, -0.0, 3.0, 3])
def test_numbers_survive_exactly(number: float) -> None:
    back = parse(dump({"n": number}))["n"]

    assert (back, type(back)) == (number, type(number))
    assert math.copysign(1, back) == math.copysign(1, number) if number == 0 else True


def test_lone_surrogates_survive() -> None:
    assert parse(dump({"\ud800": "\udfff"})) == {"\ud800": "\udfff"}


def test_equal_objects_have_equal_texts() -> None:
    assert dump({"b": 1, "a": {"d": 1, "c": 2}}) == dump({"a": {"c": 2, "d": 1}, "b": 1})


@given(METADATA)
def test_what_is_written_reads_the_same(metadata: dict[str, Any]) -> None:
    assert parse(dump(metadata)) == metadata
    assert dump(parse(dump(metadata))) == dump(metadata)


@pytest.mark.parametrize(
    ("version", "expected"),
    [(None, 1), (1, 1), (2, 2), (9, 9), ("2", 2), (2.0, 2), (2**70, 2**70)],
    ids=repr,
)
def test_a_version_is_a_whole_number(version: object, expected: int) -> None:
    assert version_of({"_format_version": version}) == expected


def test_metadata_without_a_version_is_of_version_1() -> None:
    assert version_of({}) == 1


@pytest.mark.parametrize("version", [0, -1, 1.5, True, "two", "", "-1", "٢", [], {}], ids=repr)
def test_a_version_that_is_none_is_refused(version: object) -> None:
    with pytest.raises(MalformedMetadataError, match="_format_version"):
        version_of({"_format_version": version})


def add_a_mark(metadata: Any, columns: LegacyColumns) -> tuple[dict[str, Any], tuple[str, ...]]:
    return {**metadata, "mark": columns.top_k}, ("marked",)


def test_steps_are_taken_one_after_another() -> None:
    steps = {**STEPS, 2: add_a_mark}

    found = convert({"rag_processor": "owi_rag"}, LegacyColumns(7), steps)

    assert found.metadata["_format_version"] == 3
    assert found.metadata["mark"] == 7
    assert [tool["type"] for tool in found.metadata["tools"]] == ["owi_rag"]
    assert (found.from_version, found.to_version, found.changed) == (1, 3, True)
    assert found.notes[-1] == "marked"


def test_a_later_version_takes_only_the_steps_it_lacks() -> None:
    metadata = {"_format_version": 2, "tools": ["as it was"]}

    found = convert(metadata, LegacyColumns(7), {**STEPS, 2: add_a_mark})

    assert found.metadata == {"_format_version": 3, "tools": ["as it was"], "mark": 7}


def test_the_newest_version_stays_as_it_is() -> None:
    metadata = {"_format_version": 2, "tools": ["weather"], "rag_processor": "simple_rag"}

    assert convert(metadata, NOTHING) == Conversion(metadata, 2, 2, ())


@pytest.mark.parametrize("version", [3, 9, "9", 10**40], ids=repr)
def test_a_newer_version_is_left_alone(version: object) -> None:
    metadata = {"_format_version": version, "rag_processor": "simple_rag"}

    with pytest.raises(NewerFormatError, match="was not changed"):
        convert(metadata, NOTHING)

    assert metadata == {"_format_version": version, "rag_processor": "simple_rag"}


@pytest.mark.parametrize(
    "value", [[], "{}", {"a": math.nan}, {"a": {1: 2}}, {"a": {1, 2}}, {"a": 1 << 15_000}]
)
def test_what_json_cannot_write_is_not_converted(value: Any) -> None:
    with pytest.raises(MalformedMetadataError):
        convert(value, NOTHING)


def test_a_removed_tool_stays_removed() -> None:
    leftover = {"_format_version": 2, "tools": [], "rag_processor": "simple_rag"}

    assert convert(leftover, LegacyColumns(3, "1")).metadata["tools"] == []


def test_the_old_keys_and_columns_count() -> None:
    old = {"rag_processor": "simple_rag"}

    (tool,) = convert(old, LegacyColumns(None, "1,2")).metadata["tools"]

    assert (tool["type"], tool["config"]) == (
        "simple_rag",
        {"collections": ["1", "2"], "top_k": 3},
    )
