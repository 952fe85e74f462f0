"""Asks an assistant over the REST API."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import quote, urlsplit

from heddle_runtime.errors import InvalidRequestError, UnavailableError

from heddle_cli.evaluation.judgement import Answer

_SECONDS = 300.0  # for one answer
_NOT_OF_ASSISTANT = ("etag", "published", "warnings", "read_only", "malformed_metadata", "quota")
_JUDGE = (
    "Passage:\n{passage}\n\nSentence: {sentence}\n\nDoes the passage say what the sentence says? "
    "Answer with yes or no."
)


@dataclass(frozen=True, slots=True)
class Gateway:
    """The gateway of an installation."""

    url: str
    key: str

    def variant(self, assistant: str, version: int | None, model: str) -> dict[str, Any]:
        """Return the body that asks an assistant, in a version or with another model."""
        if version is None and not model:
            return {"model": assistant}
        path = f"/assistants/{quote(assistant, safe='')}"
        if version is None:
            members = self._call("GET", path)
        else:
            members = self._call("GET", f"{path}/versions/{version}")["assistant"]
        for name in _NOT_OF_ASSISTANT:
            members.pop(name, None)
        return {"assistant": members | ({"model": _reference(model)} if model else {})}

    def ask(self, variant: Mapping[str, Any], question: str) -> Answer:
        """Return the answer of a variant."""
        path = "/assistants/try" if "assistant" in variant else "/v1/chat/completions"
        messages = [{"role": "user", "content": question}]
        started = time.monotonic()
        reply = self._call("POST", path, {**variant, "messages": messages, "trace": True})
        seconds = time.monotonic() - started
        groups = reply.get("sources", [])
        steps = [
            step
            for event in reply.get("heddle", [])
            if event["type"] == "trace"
            for step in event["data"].get("steps", [])
        ]
        costs = [step["cost_usd"] for step in steps if step.get("cost_usd") is not None]
        return Answer(
            text=reply["choices"][0]["message"]["content"] or "",
            names=[f"{each['name']} {each['source']}" for it in groups for each in it["metadata"]],
            passages=[text for group in groups for text in group["document"]],
            tokens=reply["usage"]["total_tokens"],
            dollars=sum(costs) if costs else None,
            seconds=seconds,
        )

    def supports(self, model: str, sentence: str, passage: str) -> bool:
        """Return whether a passage supports a sentence, as a model judges it."""
        variant = {"assistant": {"name": "judge", "model": _reference(model)}}
        prompt = _JUDGE.format(passage=passage, sentence=sentence)
        return self.ask(variant, prompt).text.strip().lower().startswith("yes")

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:  # noqa: ANN401 - JSON
        parts = urlsplit(self.url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.netloc, timeout=_SECONDS)
        headers = {"content-type": "application/json", "x-heddle-events": "openwebui"}
        headers |= {"authorization": f"Bearer {self.key}"} if self.key else {}
        try:
            text = json.dumps(body) if body else None
            connection.request(method, parts.path.rstrip("/") + path, text, headers)
            response = connection.getresponse()
            reply = json.loads(response.read())
        except (OSError, HTTPException, ValueError) as error:
            raise UnavailableError(f"{self.url} does not answer as a gateway: {error}.") from error
        finally:
            connection.close()
        if response.status >= 400:  # noqa: PLR2004 - errors of HTTP
            message = reply.get("error", {}).get("message") if isinstance(reply, dict) else ""
            raise InvalidRequestError(f"{method} {path}: {message or response.reason}")
        return reply


def _reference(model: str) -> dict[str, str]:
    connector, slash, name = model.partition("/")
    if not (connector and slash and name):
        raise InvalidRequestError(f"The model {model!r} is not of the form CONNECTOR/MODEL.")
    return {"connector": connector, "model": name}
