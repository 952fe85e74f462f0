"""The prices of models, which operators write as a JSON object by `connector/model`."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.usage.v1.usage_pb2 import Counts, NewPrice

MICROS = 1_000_000
"""The number of millionths in one."""
DEAREST = 1_000_000
"""The highest price of a million tokens, in US dollars. A higher one is taken for a mistake."""
_NAME = re.compile(r"[a-z][a-z0-9_]*/[^*]*\*?")
_REQUIRED = ("input", "output")
_MEMBERS = ("input", "cached_input", "output")


class PriceError(ValueError):
    """A price is wrong. The message names it and says how it must be."""


Prices = Mapping[str, pb.Price]
"""Prices by `connector/model`. A name that ends in `*` is a prefix."""
_FREE = frozenset({"bypass", "local"})
"""Connectors that ask no provider: their models cost nothing unless a price says otherwise."""


def written(price: NewPrice) -> dict[str, float]:
    """Return a price as operators write it."""
    micros = {"input": price.input_micros, "output": price.output_micros}
    if price.HasField("cached_input_micros"):
        micros["cached_input"] = price.cached_input_micros
    return {name: each / MICROS for name, each in micros.items()}


def price_of(prices: Prices, connector: str, model: str) -> pb.Price | None:
    """Return the price of a model: by its name, else by the longest matching prefix.

    A name without a star is no prefix: `gpt-4o` costs fifteen times as much as `gpt-4o-mini`.
    """
    name = f"{connector}/{model}"
    if (exact := prices.get(name)) is not None:
        return exact
    fitting = (each for each in prices if each.endswith("*") and name.startswith(each[:-1]))
    longest = max(fitting, key=len, default=None)
    if longest is None:
        return pb.Price() if connector in _FREE else None
    return prices[longest]


def cost_of(counts: Counts, price: pb.Price) -> int:
    """Return the cost of tokens, in millionths of a millionth of a US dollar."""
    cached = counts.cached_tokens * price.cached_input_micros
    fresh = (counts.prompt_tokens - counts.cached_tokens) * price.input_micros
    return fresh + cached + counts.completion_tokens * price.output_micros


def read_prices(configured: object) -> dict[str, pb.Price]:
    """Return the prices that an object holds.

    Raises:
        PriceError: One is wrong.
    """
    if not isinstance(configured, Mapping):
        raise PriceError("prices must be an object with a member for each connector/model")
    return {name: _price(name, value) for name, value in configured.items()}


def prices_of_file(path: Path | None) -> Prices:
    """Return the prices in a JSON file, none without one.

    Raises:
        ValueError: The file cannot be read or is wrong. The sentence is for its operator.
    """
    if path is None:
        return {}
    try:
        return read_prices(json.loads(path.read_bytes()))
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    except PriceError as error:
        problem = f"is wrong: {error}"
    except json.JSONDecodeError as error:
        problem = f"is not JSON: {error.msg} in line {error.lineno}"
    except (ValueError, RecursionError):
        problem = "is not JSON"
    raise ValueError(f"HEDDLE_ASSISTANTS_PRICES: the file {path} {problem}.")


def usable_prices(configured: object) -> Iterator[tuple[str, pb.Price]]:
    """Yield the valid prices of an object."""
    for name, value in configured.items() if isinstance(configured, Mapping) else ():
        try:
            yield name, _price(name, value)
        except PriceError:
            continue


def _price(name: str, members: object) -> pb.Price:
    if not _NAME.fullmatch(name):
        raise PriceError(f"{name!r} must be connector/model, or end in * for all that begin so")
    if not isinstance(members, Mapping):
        raise PriceError(f"{name!r} must be an object with {', '.join(_MEMBERS)}")
    for member in members:
        if member not in _MEMBERS:
            raise PriceError(f"{name!r} has {member!r}; known are {', '.join(_MEMBERS)}")
    for member in _REQUIRED:
        if member not in members:
            raise PriceError(f"{name!r} lacks {member!r}")
    fresh, answer = (_micros(name, member, members[member]) for member in _REQUIRED)
    cached = members.get("cached_input")
    cached = fresh if cached is None else _micros(name, "cached_input", cached)
    return pb.Price(input_micros=fresh, cached_input_micros=cached, output_micros=answer)


def _micros(name: str, member: str, value: Any) -> int:  # noqa: ANN401 - any JSON value
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    if not plain or not math.isfinite(value) or not 0 <= value <= DEAREST:
        raise PriceError(
            f"{name!r} has a wrong {member!r}: it must be US dollars for a million tokens, a "
            f"number from 0 to {DEAREST}"
        )
    return int((Decimal(str(value)) * MICROS).to_integral_value(ROUND_HALF_UP))
