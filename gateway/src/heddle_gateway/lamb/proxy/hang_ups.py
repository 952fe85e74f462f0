"""Ends of connections on which bytes wait to be read."""

import asyncio
import select
import socket
import struct

_CLOSED = select.POLLRDHUP | select.POLLHUP | select.POLLERR
_RESET = struct.pack("ii", 1, 0)
"""The value of SO_LINGER that makes the end of a connection a reset."""


def has_hung_up(transport: asyncio.BaseTransport) -> bool:
    """Return whether the peer has closed a connection, also behind bytes that were not read.

    The event loop does not notice it while reading is paused.
    """
    sock = transport.get_extra_info("socket")
    if sock is None or sock.fileno() < 0:
        return True
    poll = select.poll()
    poll.register(sock.fileno(), select.POLLRDHUP)
    return any(events & _CLOSED for _, events in poll.poll(0))


def reset(transport: asyncio.Transport) -> None:
    """Close a connection at once.

    The peer would notice an ordinary end only after it has read everything.
    """
    sock = transport.get_extra_info("socket")
    if sock is not None and sock.fileno() >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    transport.abort()
