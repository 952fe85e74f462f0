"""Prices in a file, for all organisations that have none of their own."""

import json
from pathlib import Path

from heddle_assistants.usage.prices import PriceError, Prices, read_prices

VARIABLE = "HEDDLE_ASSISTANTS_PRICES"


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
    raise ValueError(f"{VARIABLE}: the file {path} {problem}.")
