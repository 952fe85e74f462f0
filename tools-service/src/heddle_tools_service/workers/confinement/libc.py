"""The C library of this process."""

import ctypes
import os
from functools import cache


@cache
def libc() -> ctypes.CDLL:
    """Return the C library, whose functions set `ctypes.get_errno`."""
    return ctypes.CDLL(None, use_errno=True)


def check(result: int, action: str) -> int:
    """Return the result of a function of the C library.

    Raises:
        OSError: The function failed; the text names `action`.
    """
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{action}: {os.strerror(number)}")
    return result
