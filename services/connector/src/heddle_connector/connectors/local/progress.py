"""Reads how far llama.cpp is with an answer, and ends an answer that runs out of time."""

import msgspec
import structlog

from heddle_connector.sdk import DeadlineError, TimeLimit, UnavailableError

log = structlog.get_logger(__name__)
LOADING = "The embedded model is still being loaded. Try again."
OUT_OF_TIME = (
    "The answer ends here because the time for it is over. Ask for a shorter answer, or ask for "
    "the rest."
)
RAISE_DEADLINE = "HEDDLE_GATEWAY_DEADLINE_SECONDS limits the time of an answer."
_BUSY = "The embedded model is busy with other answers. Try again."
_MIN_MEASURED_SECONDS = 1.0
"""The speed of the first tokens says little."""
_HOPELESS = 2.0
"""A prompt is refused early if it takes so many times the time that is left."""


class _Prompt(msgspec.Struct, gc=False):
    total: int = 0
    cache: int = 0
    processed: int = 0
    time_ms: float = 0


class _Timings(msgspec.Struct, gc=False):
    cache_n: int = 0
    prompt_n: int = 0
    predicted_n: int = 0


class _Chunk(msgspec.Struct, gc=False):
    prompt_progress: _Prompt | None = None
    timings: _Timings | None = None


_decode = msgspec.json.Decoder(_Chunk).decode


class Progress:
    """The progress of one answer, from the chunks of the engine."""

    def __init__(self, limit: TimeLimit) -> None:
        """Start with nothing read.

        Args:
            limit: Of the answer.
        """
        self._limit = limit
        self._prompt: _Prompt | None = None
        self._timings = _Timings()

    def read(self, payloads: list[bytes]) -> None:
        """Take the chunks that are ready.

        Raises:
            DeadlineError: The prompt is too long to be read in the time that is left.
        """
        chunk = _decode(payloads[-1])
        self._timings = chunk.timings or self._timings
        prompt = self._prompt = chunk.prompt_progress or self._prompt
        if prompt is None or chunk.prompt_progress is None:
            return
        seconds, read = prompt.time_ms / 1_000, prompt.processed - prompt.cache
        if seconds < _MIN_MEASURED_SECONDS or read <= 0:
            return
        if (prompt.total - prompt.processed) * seconds / read > self._limit.left * _HOPELESS:
            raise self._too_long(prompt)

    def cut_off(self) -> list[bytes]:
        """Return a last chunk for an answer whose time is over.

        Raises:
            UnavailableError: The engine has not begun.
            DeadlineError: The engine was still reading the prompt.
        """
        if self._prompt is None:
            raise UnavailableError(_BUSY, diagnosis="HEDDLE_CONNECTOR_LOCAL_SLOTS answer at once.")
        timings = self._timings
        if not timings.predicted_n:
            raise self._too_long(self._prompt)
        log.warning(
            "answer cut off before its deadline",
            seconds=round(self._limit.seconds, 1),
            tokens=timings.predicted_n,
            remedy=RAISE_DEADLINE,
        )
        usage = {
            "prompt_tokens": timings.cache_n + timings.prompt_n,
            "completion_tokens": timings.predicted_n,
            "prompt_tokens_details": {"cached_tokens": timings.cache_n},
        }
        choice = {"index": 0, "delta": {}, "finish_reason": "length"}
        return [msgspec.json.encode({"choices": [choice], "usage": usage})]

    def _too_long(self, prompt: _Prompt) -> DeadlineError:
        return DeadlineError(
            f"The conversation has {prompt.total} tokens, and the embedded model cannot read them "
            f"in the {self._limit.seconds:.0f} seconds that it has. Shorten the conversation or "
            "what the tools add to it.",
            diagnosis=f"It read {prompt.processed} tokens in {prompt.time_ms / 1_000:.1f} s. "
            f"{RAISE_DEADLINE}",
        )
