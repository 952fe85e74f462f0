"""Answers of the gateway, streamed and whole, in a form that both have."""

import json
from dataclasses import dataclass, field
from typing import Any

import httpx


@dataclass
class Answer:
    """One kind of answer, in a form that both have."""

    status: int
    text: str = ""
    raw: str = ""
    message: dict[str, Any] = field(default_factory=dict)
    finish: str = ""
    reasoning: str = ""
    error: dict[str, Any] = field(default_factory=dict)
    report: list[dict[str, Any]] = field(default_factory=list)
    headers: httpx.Headers = field(default_factory=httpx.Headers)

    @classmethod
    def of_whole(cls, response: httpx.Response) -> "Answer":
        body = response.json()
        if "error" in body:
            return cls(response.status_code, error=body["error"])
        [choice] = body["choices"]
        message = choice["message"]
        text, finish = message["content"] or "", choice["finish_reason"]
        report = body.get("heddle", [])
        headers = response.headers
        reasoning = message.get("reasoning_content") or ""
        return cls(
            200, text, response.text, message, finish, reasoning, report=report, headers=headers
        )

    @classmethod
    def of_stream(cls, response: httpx.Response) -> "Answer":
        if response.status_code != httpx.codes.OK:
            return cls(response.status_code, error=response.json()["error"])
        lines = [line for line in response.text.splitlines() if line.startswith("data: {")]
        chunks = [json.loads(line.removeprefix("data: ")) for line in lines]
        choices = [choice for chunk in chunks for choice in chunk["choices"]]
        message: dict[str, Any] = {}
        for choice in choices:
            message |= choice["delta"]
        text = "".join(choice["delta"].get("content") or "" for choice in choices)
        report = [chunk["heddle"] for chunk in chunks if "heddle" in chunk]
        finish = choices[-1]["finish_reason"] or ""
        reasoning = "".join(choice["delta"].get("reasoning_content") or "" for choice in choices)
        return cls(200, text, response.text, message, finish, reasoning, report=report)

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """The calls of functions of the client, of which a stream sends each in one piece."""
        return list(self.message["tool_calls"])

    @property
    def chosen(self) -> list[str]:
        """The tools that the agent chose."""
        decisions = [each["data"]["choices"] for each in self.report if each["type"] == "decision"]
        return [choice["tool"] for choices in decisions for choice in choices]

    @property
    def failures(self) -> list[Any]:
        """The tools that failed and the warnings."""
        reports = [each["data"] for each in self.report if each["type"] == "report"]
        tools = [tool for each in reports for tool in each["tools"] if tool["outcome"] == "failed"]
        return tools + [warning for each in reports for warning in each["warnings"]]
