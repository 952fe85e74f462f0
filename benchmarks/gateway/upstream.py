"""A fake OpenAI provider that is fast enough not to be what is measured.

A request says how it wants to be answered: `max_tokens` is the number of tokens and
`metadata.pace_ms` the time between two of them. Each token is `<index>@<microseconds> `, the
system's monotonic clock at the moment it was made, so that whoever receives it can tell its age.

Run as `python -m benchmarks.gateway.upstream PORT`.
"""

import asyncio
import sys
from typing import cast

import httptools
import msgspec
import uvloop

from benchmarks.gateway import tokens

DEFAULT_TOKENS = 16
MODELS = b'{"object":"list","data":[{"id":"fake","object":"model","created":1,"owned_by":"bench"}]}'


class StreamOptions(msgspec.Struct):
    """What a client may ask of a stream."""

    include_usage: bool = False


class Request(msgspec.Struct):
    """The members of a completion request that this provider looks at."""

    model: str
    stream: bool | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    metadata: dict[str, str] | None = None
    stream_options: StreamOptions | None = None

    @property
    def length(self) -> int:
        """Tokens of the answer."""
        return self.max_completion_tokens or self.max_tokens or DEFAULT_TOKENS

    @property
    def pace(self) -> float:
        """Seconds between two tokens."""
        return int((self.metadata or {}).get("pace_ms", "0")) / 1000

    @property
    def wants_usage(self) -> bool:
        """Whether a stream ends with its usage."""
        return self.stream_options is not None and self.stream_options.include_usage


class Provider(asyncio.Protocol):
    """One connection of a client."""

    def __init__(self) -> None:
        self._decoder = msgspec.json.Decoder(Request)
        self._parser = httptools.HttpRequestParser(self)
        self._url = b""
        self._body = b""
        self._stream: tokens.TokenStream | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where answers go."""
        # Not an assertion: uvloop's transports fulfil the type without inheriting from it.
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop a stream that nobody reads any more."""
        if self._stream:
            self._stream.stop()

    def pause_writing(self) -> None:
        """Let a slow reader slow its stream down."""
        if self._stream:
            self._stream.pause()

    def resume_writing(self) -> None:
        """Go on with the stream."""
        if self._stream:
            self._stream.resume()

    def data_received(self, data: bytes) -> None:
        """Parse what arrived; the callbacks below follow."""
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, msgspec.MsgspecError) as error:
            self._answer(b'{"error":{"message":%s}}' % msgspec.json.encode(str(error)), b"400 No")

    def on_message_begin(self) -> None:
        """Forget the request before."""
        self._url = self._body = b""

    def on_url(self, part: bytes) -> None:
        """Collect the target."""
        self._url += part

    def on_body(self, part: bytes) -> None:
        """Collect the body."""
        self._body += part

    def on_message_complete(self) -> None:
        """Answer."""
        if self._url == b"/v1/models":
            self._answer(MODELS)
            return
        if not self._url.endswith(b"/chat/completions"):
            self._answer(b'{"error":{"message":"no such path"}}', b"404 Not Found")
            return
        request = self._decoder.decode(self._body)
        if request.stream:
            self._stream = tokens.TokenStream(
                self._transport, request.length, request.pace, with_usage=request.wants_usage
            )
        else:
            self._answer(tokens.whole(request.length))

    def _answer(self, body: bytes, status: bytes = b"200 OK") -> None:
        self._transport.write(
            b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
            % (status, len(body), body)
        )


async def serve(port: int) -> None:
    """Serve until the process is ended."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Provider, "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
