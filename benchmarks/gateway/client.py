"""The load client: keeps a number of connections busy and checks every answer.

A process of its own, so that its CPU time is not the system's. Reads jobs from standard input, one
JSON object a line, and writes their outcomes likewise; ends with its input.
"""

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import httptools
import msgspec
import uvloop

from benchmarks.gateway.answers import Answer, WrongAnswerError
from benchmarks.gateway.jobs import Job, Outcome, percentiles

OK = 200
MESSAGES = [
    {"role": "system", "content": "You are a patient tutor of weaving. Answer in one paragraph."},
    {"role": "user", "content": "What does a heddle do, and why does every thread need its own?"},
]


@dataclass(slots=True)
class Load:
    """A job on its way."""

    job: Job
    open: int
    """Connections that still work."""
    done: asyncio.Event = field(default_factory=asyncio.Event)
    started: int = 0
    began: float = 0.0
    ended: float = 0.0
    tokens: int = 0
    latencies: list[float] = field(default_factory=list)
    first_tokens: list[float] = field(default_factory=list)
    ages: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def take(self) -> bool:
        """Return whether another request may start, and count it."""
        late = time.monotonic() - self.began > self.job.seconds
        if late or self.started >= self.job.requests:
            return False
        self.started += 1
        return True

    def leave(self, error: str = "") -> None:
        """Note that a connection has finished its work, or failed."""
        if error:
            self.errors.append(error)
        self.open -= 1
        if self.open == 0:
            self.done.set()

    def outcome(self) -> Outcome:
        """Return the figures."""
        return Outcome(
            requests=len(self.latencies),
            tokens=self.tokens,
            seconds=max(self.ended - self.began, 1e-9),
            latency=percentiles(self.latencies),
            first_token=percentiles(self.first_tokens),
            token_age=percentiles(self.ages),
            errors=len(self.errors),
            first_error=self.errors[0] if self.errors else "",
        )


class Connection(asyncio.Protocol):
    """One client: asks, checks the answer, asks again."""

    def __init__(self, load: Load, requests: Sequence[bytes]) -> None:
        self._load = load
        self._requests = requests
        self._over = False
        self._sent = 0.0
        self._answer = Answer(0, stream=False)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where requests go."""
        # Not an assertion: uvloop's transports fulfil the type without inheriting from it.
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail, unless the work was done."""
        self._leave(f"the connection broke: {exc or 'end of file'}")

    def ask(self) -> None:
        """Send the next request, if there is one."""
        job = self._load.job
        if not self._load.take():
            self._leave()
            return
        self._parser = httptools.HttpResponseParser(self)
        self._answer = Answer(job.tokens, stream=job.stream)
        self._sent = time.monotonic()
        self._transport.write(self._requests[self._load.started % len(self._requests)])

    def data_received(self, data: bytes) -> None:
        """Parse what arrived; the callbacks below follow."""
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserCallbackError) as error:
            self._leave(str(error.__context__ or error))

    def on_body(self, part: bytes) -> None:
        """Take a piece of the answer, unless it is an error's."""
        status = self._parser.get_status_code()
        if status != OK:
            raise WrongAnswerError(f"the status is {status}: {part[:300]!r}")
        self._answer.feed(part)

    def on_message_complete(self) -> None:
        """Check the answer, take its figures, go on."""
        load, answer = self._load, self._answer
        answer.finish()
        now = load.ended = time.monotonic()
        # A timer may fire a little early; without any pace all tokens would come at once.
        if now - self._sent < 0.9 * (load.job.tokens - 1) * load.job.pace_ms / 1000:
            raise WrongAnswerError("the answer came too early: metadata.pace_ms got lost")
        load.tokens += answer.count
        load.latencies.append((now - self._sent) * 1000)
        if load.job.stream:
            load.first_tokens.append((answer.first_at - self._sent) * 1000)
            load.ages += answer.ages
        # Not from within the parser, which is about to be replaced.
        asyncio.get_running_loop().call_soon(self.ask)

    def _leave(self, error: str = "") -> None:
        if not self._over:
            self._over = True
            self._load.leave(error)
            self._transport.close()


def request(job: Job, messages: Sequence[Mapping[str, str]]) -> bytes:
    """Return a request of `job`, as it goes over the wire."""
    body: dict[str, object] = {
        "model": job.model,
        "messages": messages,
        "max_tokens": job.tokens,
        "metadata": {"pace_ms": str(job.pace_ms)},
    }
    if job.stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    encoded = msgspec.json.encode(body)
    return (
        b"POST %b HTTP/1.1\r\nhost: 127.0.0.1:%d\r\n"
        b"authorization: Bearer development\r\ncontent-type: application/json\r\n"
        b"content-length: %d\r\n\r\n%s" % (job.path.encode(), job.port, len(encoded), encoded)
    )


async def run(job: Job) -> Outcome:
    """Do `job`."""
    loop = asyncio.get_running_loop()
    load = Load(job, job.clients)
    earlier = [{"role": role, "content": "Go on."} for role in ("user", "assistant")]
    earlier = (earlier * job.earlier)[: job.earlier]
    conversations = [
        [*earlier, {"role": "user", "content": question}] for question in job.questions
    ]
    texts = [request(job, messages) for messages in conversations or [MESSAGES]]
    try:
        connections = [
            (await loop.create_connection(lambda: Connection(load, texts), "127.0.0.1", job.port))[
                1
            ]
            for _ in range(job.clients)
        ]
    except OSError as error:
        load.errors.append(str(error))
        return load.outcome()
    load.began = load.ended = time.monotonic()
    for connection in connections:
        connection.ask()
    try:
        async with asyncio.timeout(job.seconds + job.answer_within):
            await load.done.wait()
    except TimeoutError:
        load.errors.append(f"{load.open} answers did not come in time")
    return load.outcome()


def main() -> None:
    """Do jobs until standard input ends."""
    jobs = msgspec.json.Decoder(Job)
    for line in sys.stdin.buffer:
        outcome = uvloop.run(run(jobs.decode(line)))
        sys.stdout.buffer.write(msgspec.json.encode(outcome) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
