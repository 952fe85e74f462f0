"""Asks a running LAMB over HTTP."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import quote

from heddle_runtime.errors import HeddleError, InvalidRequestError, UnavailableError

_MAX_BYTES = 16 * 1024 * 1024
_MAX_SHOWN = 200


@dataclass(frozen=True, slots=True)
class LambClient:
    """A LAMB, and a user of it who may use the assistants."""

    url: str
    token: str = field(repr=False)
    timeout: float

    def ask(self, assistant: str, question: str, *, debug: bool) -> str:
        """Return LAMB's answer.

        Args:
            assistant: The number of the assistant.
            question: The question.
            debug: Return the prompt instead of an answer, without a call of a model.

        Raises:
            InvalidRequestError: The address is none of a web server.
            HeddleError: LAMB refuses, or answers nonsense.
            UnavailableError: LAMB does not answer.
        """
        if not self.url.startswith(("http://", "https://")):
            raise InvalidRequestError("The address of LAMB must begin with http:// or https://.")
        path = f"/creator/assistant/{quote(assistant, safe='')}/chat/completions"
        body = {
            "messages": [{"role": "user", "content": question}],
            "stream": False,
            **({"debug_bypass": True} if debug else {}),
        }
        request = urllib.request.Request(  # noqa: S310 - checked above
            self.url.rstrip("/") + path,
            json.dumps(body).encode(),
            {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as response:  # noqa: S310 - as above
                answer = response.read(_MAX_BYTES)
        except urllib.error.HTTPError as error:
            text = error.read(_MAX_SHOWN).decode(errors="replace")
            raise HeddleError(f"LAMB answers {error.code}: {text}") from None
        except OSError as error:
            raise UnavailableError(f"LAMB does not answer: {error}") from None
        return _content(answer)


def _content(answer: bytes) -> str:
    try:
        body: Any = json.loads(answer)
        return cast("str", body["choices"][0]["message"]["content"])
    except (ValueError, LookupError, TypeError):
        raise HeddleError("The answer of LAMB cannot be read.") from None
