"""Reading answers, and insisting that they are right."""

import time

import msgspec


class WrongAnswerError(Exception):
    """Raised by an answer that is not what was asked for. The message says in what."""


class Usage(msgspec.Struct):
    """What was used."""

    completion_tokens: int


class Text(msgspec.Struct):
    """A message, or a piece of one."""

    content: str | None = None


class Choice(msgspec.Struct):
    """The only choice."""

    delta: Text | None = None
    message: Text | None = None
    finish_reason: str | None = None


class Body(msgspec.Struct):
    """An answer or a chunk of one."""

    choices: list[Choice] = []
    usage: Usage | None = None
    error: object = None


_BODY = msgspec.json.Decoder(Body)
_DATA = b"data: "
_END = b"[DONE]"


class Answer:
    """What has arrived of one answer of `expected` tokens."""

    def __init__(self, expected: int, *, stream: bool) -> None:
        self._expected = expected
        self._stream = stream
        self._rest = b""
        self._text = ""
        self._finish: str | None = None
        self._usage: Usage | None = None
        self._ended = False
        self.count = 0
        self.first_at = 0.0
        self.ages: list[float] = []
        """Milliseconds."""

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the body."""
        self._rest += data
        if not self._stream:
            return
        *events, self._rest = self._rest.split(b"\n\n")
        for event in events:
            for line in event.split(b"\n"):
                if line.startswith(_DATA):
                    self._line(line[len(_DATA) :])

    def finish(self) -> None:
        """Check the whole, once the body is over."""
        if self._stream:
            self._require(self._ended, "lacks [DONE]")
        else:
            self._take(_BODY.decode(self._rest))
        self._require(self.count == self._expected, f"has {self.count} tokens")
        self._require(not self._text, f"ends in {self._text!r}")
        self._require(self._finish == "stop", f"finished for {self._finish!r}")
        used = self._usage.completion_tokens if self._usage else None
        self._require(used == self._expected, f"tells a usage of {used}")

    def _line(self, data: bytes) -> None:
        self._require(not self._ended, "goes on after [DONE]")
        if data == _END:
            self._ended = True
        else:
            self._take(_BODY.decode(data))

    def _take(self, body: Body) -> None:
        if body.error:
            raise WrongAnswerError(f"the answer is an error: {body.error}")
        self._usage = body.usage or self._usage
        for choice in body.choices:
            self._finish = choice.finish_reason or self._finish
            piece = choice.delta or choice.message
            if piece and piece.content:
                self._read(piece.content)

    def _read(self, content: str) -> None:
        """Count the tokens of `content`, whose borders need not be those of the tokens."""
        now = time.monotonic()
        self.first_at = self.first_at or now
        *whole, self._text = (self._text + content).split(" ")
        for token in whole:
            index, _, stamp = token.partition("@")
            if index != str(self.count):  # not `_require`: this is the hot path
                raise WrongAnswerError(f"token {self.count} of the answer is {token!r}")
            self.ages.append(now * 1000 - int(stamp) / 1000)
            self.count += 1

    def _require(self, fulfilled: bool, otherwise: str) -> None:  # noqa: FBT001 - an assertion's shape
        if not fulfilled:
            raise WrongAnswerError(f"the answer of {self._expected} tokens {otherwise}")
