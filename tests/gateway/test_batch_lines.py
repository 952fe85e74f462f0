"""The input files of batches."""

import json
from typing import Any

import pytest
from heddle_gateway.openai.batches.worker import read_lines

CHAT = "/v1/chat/completions"


def line(identifier: object = "a", **members: Any) -> str:
    """Return a line."""
    request = {"custom_id": identifier, "method": "POST", "url": CHAT, "body": {"model": "1"}}
    return json.dumps(request | members)


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (f"\ufeff{line()}\r\n\n{line('b', body={'stream': False})}", []),
        ("", [("empty_file", None)]),
        (f"{line()}\n{{", [("invalid_json_line", 2)]),
        (line(7), [("invalid_json_line", 1)]),
        (line(method="GET"), [("invalid_json_line", 1)]),
        (line(""), [("invalid_custom_id", 1)]),
        (line("x" * 513), [("invalid_custom_id", 1)]),
        (f"{line()}\n{line()}", [("duplicate_custom_id", 2)]),
        (line(url="/v1/embeddings"), [("mismatched_url", 1)]),
        (line(body=[]), [("invalid_body", 1)]),
        (line(body={"stream": True}), [("invalid_body", 1)]),
    ],
)
def test_each_line_is_a_request_to_the_endpoint(
    text: str, codes: list[tuple[str, int | None]]
) -> None:
    lines, faults = read_lines(text.encode(), CHAT)
    assert [(each["code"], each["line"]) for each in faults] == codes
    assert codes or lines
