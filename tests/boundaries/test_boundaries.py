"""Every limit accepts what it allows, and refuses one more."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from boundaries.inventory import constants, limits, refusing
from boundaries.models import models, wrong_ranges, wrong_sizes
from boundaries.rows import ROWS, SLOW, is_internal, names, refusal, value

CATEGORIES = tomllib.loads(Path(__file__).with_name("not_input.toml").read_text())
"""Limits that refuse no input, and the reason."""
NOT_INPUT = {limit for category in CATEGORIES.values() for limit in category["limits"]}
_LOWER = re.compile(r"(?:^|_)FEWEST(?:_|$)")


def test_a_limit_has_a_row_or_refuses_no_input() -> None:
    assert {*limits()} == ({*limits()} & ROWS.keys()) | NOT_INPUT, "see rows and not_input.toml"
    assert {*constants()} >= ROWS.keys()
    assert not NOT_INPUT & ROWS.keys(), "remove those that have a row from not_input.toml"


def test_a_limit_before_an_error_has_a_row() -> None:
    assert {*refusing()} <= ROWS.keys()


def rows() -> Iterator[Any]:
    """Yield the limits with a row. The slow ones run in `make test-all` only."""
    for limit in ROWS:
        yield pytest.param(limit, marks=pytest.mark.exhaustive if limit in SLOW else ())


@pytest.mark.parametrize("name", CATEGORIES)
def test_a_category_of_limits_only_shrinks(name: str) -> None:
    category = CATEGORIES[name]
    assert category["reason"]
    assert len(set(category["limits"])) == category["count"], "only lower `count`, or write a row"


@pytest.mark.parametrize("limit", [*rows()])
def test_a_limit_accepts_what_it_allows_and_refuses_one_more(limit: str) -> None:
    most, check = value(limit), ROWS[limit]
    step = -1 if _LOWER.search(limit.rpartition(".")[2]) else 1
    assert not refusal(check, most - step)
    assert not refusal(check, most)
    refused = refusal(check, most + step)
    assert refused
    if isinstance(refused, Exception):
        assert names(refused, most), f"the error does not name the limit: {refused}"
        assert not is_internal(refused)


MODELS = {f"{model.__module__}.{model.__qualname__}": model for model in models()}


@pytest.mark.parametrize("name", MODELS)
def test_a_field_of_a_model_accepts_what_its_bounds_allow_and_no_more(name: str) -> None:
    assert [*wrong_ranges(MODELS[name]), *wrong_sizes(MODELS[name])] == []


def test_fields_of_models_and_settings_have_bounds() -> None:
    assert {"GatewaySettings", "SearchFiles"} <= {name.rpartition(".")[2] for name in MODELS}
