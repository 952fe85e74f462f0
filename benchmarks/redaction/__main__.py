"""`python -m benchmarks.redaction`: measures recall, false positives and time; prints the figures.

Ends with 1 if a figure misses its goal.
"""

import argparse
import sys
import time
from collections import Counter

from heddle_runtime.redaction import redact

from benchmarks.redaction.hostile import hostile_texts
from benchmarks.redaction.texts import SecretText, clean_texts, secret_texts

MIN_RECALL = 0.996
MAX_FALSE_POSITIVES = 0.005
MAX_SECONDS = 0.1
_MEGABYTE = 1_000_000
_HALF = 12
"""A secret of this length counts as found only if neither of its halves is left."""


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser("python -m benchmarks.redaction", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the random characters [1]")
    parser.add_argument("--repetitions", type=int, default=20, help="texts of each form [20]")
    parser.add_argument("--misses", action="store_true", help="print what was missed")
    arguments = parser.parse_args()
    recall = measure_recall(arguments.seed, arguments.repetitions, show=arguments.misses)
    false_positives = measure_false_positives(arguments.seed, show=arguments.misses)
    slowest = _measure_time()
    sys.exit(0 if is_reached(recall, false_positives, slowest) else 1)


def is_reached(recall: float, false_positives: float, seconds: float) -> bool:
    """Return whether the figures reach their goals."""
    return recall >= MIN_RECALL and false_positives <= MAX_FALSE_POSITIVES and seconds < MAX_SECONDS


def measure_recall(seed: int, repetitions: int, *, show: bool) -> float:
    """Return the share of secrets of which nothing is left."""
    texts = list(secret_texts(seed, repetitions))
    missed = [text for text in texts if is_missed(text)]
    recall = 1 - len(missed) / len(texts)
    print(f"recall: {recall:.2%} of {len(texts):,} secrets (at least {MIN_RECALL:.1%})")
    if show:
        for name, count in Counter(text.name for text in missed).most_common():
            example = next(text for text in missed if text.name == name)
            print(f"  {count} {name}: {example.text!r} -> {redact(example.text)!r}")
    return recall


def measure_false_positives(seed: int, *, show: bool) -> float:
    """Return the share of texts without a secret that are changed."""
    texts = list(clean_texts(seed))
    changed = [text for text in texts if redact(text) != text]
    share = len(changed) / len(texts)
    print(
        f"false positives: {share:.2%} of {len(texts):,} texts (at most {MAX_FALSE_POSITIVES:.1%})"
    )
    if show:
        for text in changed:
            print(f"  {text!r} -> {redact(text)!r}")
    return share


def _measure_time() -> float:
    redact("warm" * _MEGABYTE)
    seconds = {name: _seconds(text) for name, text in hostile_texts(_MEGABYTE)}
    name, slowest = max(seconds.items(), key=lambda item: item[1])
    print(
        f"time: {slowest * 1000:.0f} ms for 1 MB of the slowest of {len(seconds)} hostile texts, "
        f"{name} (less than {MAX_SECONDS * 1000:.0f} ms)"
    )
    return slowest


def _seconds(text: str) -> float:
    """Return the CPU seconds for a text, the better of two runs."""
    runs = []
    for _ in range(2):
        started = time.thread_time()
        redact(text)
        runs.append(time.thread_time() - started)
    return min(runs)


def is_missed(text: SecretText) -> bool:
    """Return whether a secret, or half of a long one, is left after redaction."""
    shown = redact(text.text)
    for secret in text.secrets:
        middle = len(secret) // 2
        parts = [secret[:middle], secret[middle:]] if len(secret) >= _HALF else [secret]
        if any(part in shown for part in parts):
            return True
    return False


if __name__ == "__main__":
    main()
