"""The fake provider's answers: whole, or token by token."""

import asyncio
import time

BURST = 20
"""Tokens that an unpaced stream writes before it lets other connections have their turn."""
_SHARED = b'"id":"chatcmpl-bench","created":1700000000,"model":"fake"'
_OPEN = b"data: {" + _SHARED + b',"object":"chat.completion.chunk","choices":['
_FIRST = _OPEN + (
    b'{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}\n\n'
)
_BEFORE = _OPEN + b'{"index":0,"delta":{"content":"'
_AFTER = b'"},"logprobs":null,"finish_reason":null}]}\n\n'
_FINISH = _OPEN + b'{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]}\n\n'
_DONE = b"data: [DONE]\n\n"
_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)


def token(index: int) -> bytes:
    """Return the token at `index`, made now."""
    return b"%d@%d " % (index, time.monotonic_ns() // 1000)


def usage(length: int) -> bytes:
    """Return the usage member of an answer of `length` tokens."""
    return b'"usage":{"prompt_tokens":64,"completion_tokens":%d,"total_tokens":%d}' % (
        length,
        64 + length,
    )


def whole(length: int) -> bytes:
    """Return a complete answer."""
    text = b"".join(token(index) for index in range(length))
    message = b'{"role":"assistant","content":"%s","refusal":null}' % text
    choice = b'{"index":0,"message":%s,"logprobs":null,"finish_reason":"stop"}' % message
    return b'{%s,"object":"chat.completion","choices":[%s],%s}' % (_SHARED, choice, usage(length))


def _chunk(event: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(event), event)


class TokenStream:
    """One streamed answer. Every event is a chunk of its own, as with real providers."""

    def __init__(
        self, transport: asyncio.Transport, length: int, pace: float, *, with_usage: bool
    ) -> None:
        self._transport = transport
        self._length = length
        self._pace = pace
        self._with_usage = with_usage
        self._next = 0
        self._paused = False
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._timer: asyncio.Handle | None = None
        transport.write(_HEAD + _chunk(_FIRST))
        self._go_on()

    def pause(self) -> None:
        """Make no more tokens until `resume`."""
        self._paused = True

    def resume(self) -> None:
        """Go on where `pause` came."""
        self._paused = False
        if self._timer is None and self._next < self._length:
            self._go_on()

    def stop(self) -> None:
        """Make no more tokens."""
        self._next = self._length
        if self._timer:
            self._timer.cancel()

    def _go_on(self) -> None:
        """Write what is due and arrange for the rest."""
        self._timer = None
        if self._paused or self._transport.is_closing():
            return
        until = min(self._length, self._next + (1 if self._pace else BURST))
        events = [_chunk(_BEFORE + token(index) + _AFTER) for index in range(self._next, until)]
        self._next = until
        if self._next == self._length:
            events.append(self._end())
        self._transport.write(b"".join(events))
        if self._next == self._length:
            return
        if self._pace:
            # From the start, not from now: a late timer must not slow the stream down.
            due = self._started + self._next * self._pace
            self._timer = self._loop.call_at(due, self._go_on)
        else:
            self._timer = self._loop.call_soon(self._go_on)

    def _end(self) -> bytes:
        last = _chunk(_OPEN + b"]," + usage(self._length) + b"}\n\n") if self._with_usage else b""
        return _chunk(_FINISH) + last + _chunk(_DONE) + b"0\r\n\r\n"
