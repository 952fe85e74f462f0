"""Threat 28: an attacker measures how long the check of an API key takes.

`tests/assistants/accounts/test_keys.py` shows that each check of an issued key takes one read and
one digest, and that all refusals have the same words.
"""

import math
import random
import secrets
import time
from statistics import fmean, variance

import pytest
from heddle_gateway.auth.keys_file import Keyring, Principal
from heddle_runtime.identity.callers import Identity

KEY = "lamb_0123456789abcdef0123456789abcdef"
RIGHT_CHARACTERS = (0, 5, 20, 30)
"""How many characters of a wrong key are those of a valid one."""
SAMPLES = 20_000
ATTEMPTS = 3
"""Other processes disturb a measurement; a leak shows in each."""
LIMIT = 4.5
"""The usual bound of Welch's t for a leak."""


@pytest.mark.exhaustive
def test_the_time_does_not_say_how_much_of_a_key_is_right() -> None:
    keyring = Keyring({KEY: Principal(Identity("ana")), "b" * 40: Principal(Identity("bob"))})
    measured: list[float] = []
    while not measured or (measured[-1] >= LIMIT and len(measured) < ATTEMPTS):
        measured.append(leak(keyring))
    assert measured[-1] < LIMIT, measured


def leak(keyring: Keyring) -> float:
    """Return the largest t between two kinds of keys, measured in shuffled order.

    Each key is new: a fixed one has a place of its own in tables, which takes its own time.
    """
    order = [right for right in RIGHT_CHARACTERS for _ in range(SAMPLES)]
    random.shuffle(order)
    keys = [
        (right, "".join([*KEY[:right], *secrets.token_hex(32)[right : len(KEY)]]))
        for right in order
    ]
    seconds: dict[int, list[int]] = {right: [] for right in RIGHT_CHARACTERS}
    for right, key in keys:
        begin = time.perf_counter_ns()
        keyring.principal(key)
        end = time.perf_counter_ns()
        seconds[right].append(end - begin)
    # Without the slowest tenth, in which the process was interrupted.
    usual = [sorted(each)[: SAMPLES * 9 // 10] for each in seconds.values()]
    return max(abs(welch(a, b)) for a in usual for b in usual if a is not b)


def welch(a: list[int], b: list[int]) -> float:
    """Return Welch's t of two samples."""
    return (fmean(a) - fmean(b)) / math.sqrt(variance(a) / len(a) + variance(b) / len(b))
