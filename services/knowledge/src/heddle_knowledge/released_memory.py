"""Returns memory to the operating system that was freed but is still reserved."""

import ctypes

import pyarrow as pa

_M_MMAP_THRESHOLD = -3
_LARGE_BYTES = 128 * 1024


def use_returnable_memory() -> None:
    """Let Arrow and LanceDB take their memory where `release_memory` and freeing can return it.

    Arrow's own allocator keeps freed memory for each thread that took it. The C library takes ever
    larger blocks from its heap, where freed ones leave holes, unless a limit is set.
    """
    pa.set_memory_pool(pa.system_memory_pool())
    # Only glibc has it.
    option = getattr(ctypes.CDLL(None), "mallopt", None)
    if option is not None:
        option(_M_MMAP_THRESHOLD, _LARGE_BYTES)


def release_memory() -> None:
    """Return what the C library holds for later. Takes milliseconds; for quiet moments."""
    pa.system_memory_pool().release_unused()
