"""Write coalescing: the requests of one event loop iteration are written together.

Each write by itself wakes its provider by itself. Measured with 16 concurrent requests: writing
them together saves a tenth of what a chat completion costs (ADR 7).
"""

import asyncio


class WriteCoalescer:
    """Writes messages at the end of the current iteration of the event loop."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending: list[tuple[asyncio.WriteTransport, bytes]] = []

    def write(self, transport: asyncio.WriteTransport, message: bytes) -> None:
        """Write a message soon. Messages of one connection keep their order."""
        if not self._pending:
            asyncio.get_running_loop().call_soon(self._flush)
        self._pending.append((transport, message))

    def _flush(self) -> None:
        pending, self._pending = self._pending, []
        for transport, message in pending:
            if not transport.is_closing():  # the caller has left
                transport.write(message)
