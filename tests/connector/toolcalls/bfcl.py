"""The ground truths of the Berkeley Function Calling Leaderboard, written and read back.

`PYTHONPATH=tests python -m connector.toolcalls.bfcl` prints how many survive.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from connector.toolcalls.formats import Arguments, compact, function, named
from connector.toolcalls.reading import read_tool_calls

CATEGORIES = (
    *("simple_python", "multiple", "parallel", "parallel_multiple", "live_simple"),
    *("live_multiple", "live_parallel", "live_parallel_multiple", "simple_java"),
    "simple_javascript",
)
Calls = list[tuple[str, Arguments]]


def write_functions(calls: Calls) -> str:
    return "\n".join(f"<tool_call>\n{function(*call)}\n</tool_call>" for call in calls)


def write_tags(calls: Calls) -> str:
    return "\n".join(f"<tool_call>\n{named(*call)}\n</tool_call>" for call in calls)


def write_array(calls: Calls) -> str:
    return f"[{', '.join(named(*call) for call in calls)}]"


WRITERS = {"F1": write_functions, "F2": write_tags, "F3": write_array}


def truths() -> Iterator[tuple[str, list[dict[str, Any]], Calls]]:
    """Yield the name, the functions and the calls of each truth.

    A truth lists what each argument may be. The first that is something is written, also where
    leaving the argument out would do.
    """
    wheel = distribution("bfcl-eval")
    data = Path(str(wheel.locate_file("bfcl_eval/data")))
    for category in CATEGORIES:
        questions = {item["id"]: item for item in _lines(data / f"BFCL_v4_{category}.json")}
        for answer in _lines(data / "possible_answer" / f"BFCL_v4_{category}.json"):
            calls: Calls = [
                (name, {key: _pick(options) for key, options in given.items() if _given(options)})
                for call in answer["ground_truth"]
                for name, given in call.items()
            ]
            yield answer["id"], questions[answer["id"]]["function"], calls


def count() -> Counter[str]:
    """Return how many truths there are, and how many are read back in each format."""
    counts: Counter[str] = Counter()
    for _, functions, calls in truths():
        counts["truths"] += 1
        for format_, write in WRITERS.items():
            reading = read_tool_calls(write(calls), functions)
            found = [(call.name, call.arguments) for call in reading.calls]
            counts[format_] += compact(found) == compact(calls)  # 1 is neither 1.0 nor true
    return counts


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, path.read_text().splitlines())


def _given(options: list[Any]) -> bool:
    return any(option != "" for option in options)


def _pick(options: list[Any]) -> Any:
    chosen = next(option for option in options if option != "")
    if isinstance(chosen, dict):
        return {
            key: _pick(inner) if isinstance(inner, list) else inner
            for key, inner in chosen.items()
            if not isinstance(inner, list) or _given(inner)
        }
    if isinstance(chosen, list):
        return [_pick([item]) if isinstance(item, dict) else item for item in chosen]
    return chosen


if __name__ == "__main__":
    sys.stdout.write(f"{dict(count())}\n")
