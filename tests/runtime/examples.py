"""How many examples property tests try: some each time, many at night."""

import os
from typing import Any

from hypothesis import settings

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "default")
_TIMES = {"default": 1, "nightly": 50}[PROFILE]
_USUAL = 100


def examples(count: int = _USUAL, **more: Any) -> settings:
    """Return settings for `count` examples, for 50 times as many in the profile `nightly`.

    None has a limit of time: a busy machine would break it.
    """
    return settings(max_examples=count * _TIMES, deadline=None, **more)
