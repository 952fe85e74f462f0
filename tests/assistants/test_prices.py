"""What operators write down as prices, and which of them a model has."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from heddle.assistant.v1.assistant_pb2 import Price
from heddle.usage.v1.usage_pb2 import Counts
from heddle_assistants.accounts.model_prices import (
    PriceError,
    cost_of,
    price_of,
    prices_of_file,
    read_prices,
    usable_prices,
)

LIST = {
    "openai/gpt-4o": {"input": 2.5, "cached_input": 1.25, "output": 10},
    "openai/gpt-4o-mini*": {"input": 0.15, "output": 0.6},
    "openai/*": {"input": 3, "output": 12},
    "local/dear": {"input": 3, "output": 12},
}


def price_in_micros(fresh: int, cached: int, answer: int) -> Price:
    """Return a price in millionths of a US dollar for a million tokens."""
    return Price(input_micros=fresh, cached_input_micros=cached, output_micros=answer)


BIG = price_in_micros(2_500_000, 1_250_000, 10_000_000)
MINI = price_in_micros(150_000, 150_000, 600_000)
OTHER = price_in_micros(3_000_000, 3_000_000, 12_000_000)


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("openai/gpt-4o", BIG),
        ("openai/gpt-4o-mini", MINI),
        ("openai/gpt-4o-mini-2024-07-18", MINI),
        ("openai/gpt-4o-2024-08-06", OTHER),
        ("openai/o1", OTHER),
        ("local/anything", Price()),  # on this machine, and so free
        ("bypass/debug-bypass", Price()),
        ("local/dear", OTHER),
        ("ollama/llama3", None),
        ("openai2/gpt-4o", None),
    ],
)
def test_a_model_has_the_price_of_its_name_else_of_its_longest_beginning(
    model: str, price: Price | None
) -> None:
    connector, _, name = model.partition("/")
    assert price_of(read_prices(LIST), connector, name) == price


def test_a_cost_is_exact_to_the_token() -> None:
    # 900 fresh, 100 cached and 50 answered: 0.00225 + 0.000125 + 0.0005 US dollars
    counts = Counts(prompt_tokens=1000, cached_tokens=100, completion_tokens=50)
    assert cost_of(counts, BIG) == 2_875 * 1_000_000
    assert cost_of(Counts(prompt_tokens=1), MINI) == 150_000


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ([], "must be an object"),
        ({"gpt-4o": {"input": 1, "output": 1}}, "'gpt-4o' must be connector/model"),
        ({"openai/*o": {"input": 1, "output": 1}}, "'openai/*o' must be connector/model"),
        ({"openai/x": 3}, "'openai/x' must be an object"),
        ({"openai/x": {"input": 1}}, "'openai/x' lacks 'output'"),
        ({"openai/x": {"input": 1, "output": 1, "in": 1}}, "'openai/x' has 'in'"),
        ({"openai/x": {"input": -1, "output": 1}}, "'openai/x' has a wrong 'input'"),
        ({"openai/x": {"input": 1, "output": "1"}}, "'openai/x' has a wrong 'output'"),
        ({"openai/x": {"input": True, "output": 1}}, "'openai/x' has a wrong 'input'"),
        ({"openai/x": {"input": 2e6, "output": 1}}, "'openai/x' has a wrong 'input'"),
        ({"openai/x": {"input": float("nan"), "output": 1}}, "'openai/x' has a wrong 'input'"),
        (
            {"openai/x": {"input": 1, "output": 1, "cached_input": []}},
            "'openai/x' has a wrong 'cached_input'",
        ),
    ],
)
def test_a_wrong_price_is_named(given: Any, named: str) -> None:
    with pytest.raises(PriceError, match=re.escape(named)):
        read_prices(given)


def test_prices_that_are_not_wrong_can_be_used() -> None:
    given = {"openai/x": {"input": 1, "output": 2}, "openai/y": {"input": "?"}}
    assert dict(usable_prices(given)) == {
        "openai/x": price_in_micros(1_000_000, 1_000_000, 2_000_000)
    }
    assert dict(usable_prices("free")) == {}


def test_prices_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    file.write_text(json.dumps(LIST))
    assert prices_of_file(file)["openai/gpt-4o"] == BIG
    assert prices_of_file(None) == {}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "is not JSON: "),
        ('{"openai/x": 1}', "is wrong: 'openai/x' must be an object"),
        ("[" * 100_000, "is not JSON"),
        ("1" * 5_000, "is not JSON"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_a_wrong_file_is_told_with_its_variable(
    tmp_path: Path, text: str | None, told: str
) -> None:
    file = tmp_path / "prices.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ValueError, match="HEDDLE_ASSISTANTS_PRICES") as failure:
        prices_of_file(file)
    assert f"the file {file} {told}" in str(failure.value)
