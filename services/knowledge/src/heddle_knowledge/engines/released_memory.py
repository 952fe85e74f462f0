"""Returns memory to the operating system that was freed but is still reserved."""

import ctypes

import pyarrow as pa

_M_MMAP_THRESHOLD = -3
_LARGE_BYTES = 128 * 1024


def map_large_blocks() -> None:
    """Let the C library return large blocks as soon as they are freed.

    By itself it takes ever larger ones from its heap, where freed ones leave holes.
    """
    # Only glibc has it.
    option = getattr(ctypes.CDLL(None), "mallopt", None)
    if option is not None:
        option(_M_MMAP_THRESHOLD, _LARGE_BYTES)


def release_memory() -> None:
    """Return unused memory of the C library to the system. Takes milliseconds; for idle times."""
    pa.system_memory_pool().release_unused()
