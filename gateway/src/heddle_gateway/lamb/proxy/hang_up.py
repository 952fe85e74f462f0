"""Whether a peer has closed its connection while nobody reads from it."""

import asyncio
import select

_CLOSED = select.POLLRDHUP | select.POLLHUP | select.POLLERR


def has_hung_up(transport: asyncio.BaseTransport) -> bool:
    """Return whether the peer has closed a connection, also behind bytes that nobody has read.

    The event loop does not notice it while reading is paused.
    """
    sock = transport.get_extra_info("socket")
    if sock is None or sock.fileno() < 0:
        return True
    poll = select.poll()
    poll.register(sock.fileno(), select.POLLRDHUP)
    return any(events & _CLOSED for _, events in poll.poll(0))
