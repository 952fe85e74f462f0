"""Asks a server with models, patiently: what may pass is tried again."""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import httpx
from heddle_runtime.contract.json_text import MAX_VALUES
from heddle_runtime.http.remote_json import (
    MAX_ANSWER_BYTES,
    BusyServerError,
    RemoteError,
    RemoteUnavailableError,
    fetch,
    reason_in,
)

from heddle_knowledge.errors import EmbeddingError

_BYTES_PER_NUMBER = 32
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 20.0
_JITTER = 0.25


@dataclass(frozen=True, slots=True)
class ModelServer:
    """The address of a model's server, and the time limit of its answers."""

    http: httpx.AsyncClient
    """Must not follow redirects: the key belongs to one origin."""
    url: str
    """Without a slash at the end."""
    key: str = field(repr=False)
    model: str
    who: str
    """The server in messages, for example `the embedding model's server`."""
    seconds: float = 30.0
    """For one answer."""
    attempts: int = 4
    first_wait: float = _FIRST_WAIT
    """Seconds before the second attempt; doubled before each further one."""

    async def post(self, path: str, body: Mapping[str, Any], numbers: int = 0) -> Any:  # noqa: ANN401 - any JSON value
        """Return the JSON value that the server answers to a request for its model.

        Args:
            path: Where it answers, below the address of the server.
            body: What the request has beside the model.
            numbers: How many numbers the requested vectors have; the answer may be that large.

        Raises:
            EmbeddingError: It cannot be reached, is busy for long, refuses, or answers nonsense.
        """
        for attempt in range(1, self.attempts + 1):
            try:
                return await self._once(path, body, numbers)
            except RemoteUnavailableError as error:
                if attempt == self.attempts:
                    raise EmbeddingError(f"{error} It was asked {attempt} times.") from None
                await asyncio.sleep(self._wait(attempt, error))
            except RemoteError as error:
                raise EmbeddingError(str(error)) from None
        raise AssertionError("the last attempt returns or raises")

    def unreadable(self, why: str) -> EmbeddingError:
        """Return the error for an answer that has not the expected form."""
        return EmbeddingError(f"The answer of {self.who} cannot be read: {why}.")

    async def _once(self, path: str, body: Mapping[str, Any], numbers: int) -> Any:  # noqa: ANN401 - as above
        request = self.http.build_request(
            "POST",
            f"{self.url}/{path}",
            json={"model": self.model, **body},
            headers={"Authorization": f"Bearer {self.key}"} if self.key else {},
            timeout=self.seconds,
        )
        limits = {
            "max_bytes": MAX_ANSWER_BYTES + numbers * _BYTES_PER_NUMBER,
            "max_values": MAX_VALUES + numbers,
        }
        status, answer = await fetch(self.http, request, self.who, **limits)
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            raise RemoteError(f"{self.who} refuses the key ({status}).")
        if status >= HTTPStatus.BAD_REQUEST:
            reason = reason_in(answer, self.key) or "no reason told"
            raise RemoteError(f"{self.who} refuses the request ({status}): {reason}.")
        return answer

    def _wait(self, attempt: int, error: RemoteUnavailableError) -> float:
        if isinstance(error, BusyServerError):
            return min(error.wait, _LONGEST_WAIT)
        spread = 1 + random.uniform(-_JITTER, _JITTER)  # noqa: S311 - only spreads attempts
        return float(min(self.first_wait * 2 ** (attempt - 1) * spread, _LONGEST_WAIT))
