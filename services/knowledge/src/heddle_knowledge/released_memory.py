"""Returns memory to the operating system that was freed but is still reserved."""

import ctypes

import pyarrow as pa


def release_memory() -> None:
    """Return what the C library and Arrow hold for later. Takes milliseconds; for quiet moments."""
    pa.default_memory_pool().release_unused()
    # Only glibc has it.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
