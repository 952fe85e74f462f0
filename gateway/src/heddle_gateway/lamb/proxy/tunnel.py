"""Bytes in both directions, after a request has changed to WebSocket messages."""

import asyncio
from typing import cast

from heddle_gateway.lamb.proxy.hang_ups import has_hung_up, reset

CLOSE_SECONDS = 0.2
"""For the last bytes to go out after the other side has closed."""
_CHECK_SECONDS = 0.1
"""How often a side that has to wait is checked."""


class TunnelEnd(asyncio.Protocol):
    """One end of a tunnel: what arrives here leaves at the other end."""

    def __init__(self, tunnel: "Tunnel") -> None:
        self.transport: asyncio.Transport | None = None
        self.other: TunnelEnd = self
        self._tunnel = tunnel
        self._loop = asyncio.get_running_loop()
        self._waits = False  # whether the other end has to read first

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Send bytes to the other end."""
        self._tunnel.used()
        self.other.send(data)

    def send(self, data: bytes) -> None:
        """Send bytes from the other end."""
        if data and self.transport is not None:
            self.transport.write(data)

    def pause_writing(self) -> None:
        """Make the other end wait."""
        self.other.wait()

    def resume_writing(self) -> None:
        """Let the other end continue."""
        self.other.resume()

    def wait(self) -> None:
        """Stop reading until the other end has sent enough."""
        if self.transport is not None and not self._waits:
            self._waits = True
            self.transport.pause_reading()
            self._loop.call_later(_CHECK_SECONDS, self._check)

    def resume(self) -> None:
        """Read again."""
        if self.transport is not None and self._waits:
            self._waits = False
            if not self.transport.is_closing():
                self.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the tunnel."""
        self.transport = None
        self._tunnel.end()

    def close(self) -> None:
        """Send what is left, and close."""
        if self.transport is not None:
            self.transport.close()
            self._loop.call_later(CLOSE_SECONDS, self._abort)

    def _check(self) -> None:
        """Notice a peer that has closed while its bytes have to wait."""
        if self.transport is None or not self._waits:
            return
        if has_hung_up(self.transport):
            reset(self.transport)
        else:
            self._loop.call_later(_CHECK_SECONDS, self._check)

    def _abort(self) -> None:
        if self.transport is not None:
            reset(self.transport)


class Tunnel:
    """Two connections, each of which gets what the other one sends."""

    def __init__(self, seconds: float) -> None:
        """Prepare.

        Args:
            seconds: How long both sides may be silent.
        """
        self.client = TunnelEnd(self)
        self.lamb = TunnelEnd(self)
        self.client.other, self.lamb.other = self.lamb, self.client
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._used_at = self._loop.time()
        self._ended = asyncio.Event()

    def used(self) -> None:
        """Note that bytes have arrived."""
        self._used_at = self._loop.time()

    def end(self) -> None:
        """End the tunnel: one side has closed."""
        self._ended.set()
        self.client.close()
        self.lamb.close()

    async def run(self) -> None:
        """Wait until the tunnel ends."""
        try:
            while not self._ended.is_set():
                left = self._seconds - (self._loop.time() - self._used_at)
                try:
                    async with asyncio.timeout(max(left, 0.0)):
                        await self._ended.wait()
                except TimeoutError:
                    if self._loop.time() - self._used_at >= self._seconds:
                        return
        finally:
            self.end()
