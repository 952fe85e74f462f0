"""The tool `single_file` with a file that was uploaded over REST."""

from pathlib import Path
from typing import Any

from integration.browser import browser
from integration.whole import whole

BYPASS = {"connector": "bypass", "model": "simple-bypass"}


def outcomes(answer: dict[str, Any]) -> dict[str, str]:
    """Return how the tools of an answer ended, by their names."""
    (report,) = [each["data"] for each in answer["heddle"] if each["type"] == "report"]
    return {each["name"]: each["outcome"] for each in report["tools"]}


async def test_an_uploaded_file_fills_its_slot_until_it_is_deleted(tmp_path: Path) -> None:
    async with whole(tmp_path) as heddle, browser(heddle.url) as client:
        upload = {"file": ("shed.html", b"<h1>Looms</h1><p>A shed is a gap.</p>")}
        file = await client.post("/v1/files", files=upload, data={"purpose": "assistants"})
        identifier = file.json()["id"]
        tool = {"type": "single_file", "config": {"file_path": identifier, "max_chars": 14}}
        assistant = {
            "name": "reader",
            "model": BYPASS,
            "prompt_template": "<{file}> {user_input}",
            "tools": [tool],
            "published": True,
        }
        stored = await client.post("/assistants", json=assistant)
        assert stored.status_code == 201, stored.text
        body = {"model": "reader", "messages": [{"role": "user", "content": "why?"}]}
        answer = (await client.post("/v1/chat/completions", json=body)).json()
        assert "<\n\nLooms\n\nA shed" in answer["choices"][0]["message"]["content"]
        assert "gap" not in answer["choices"][0]["message"]["content"]
        assert outcomes(answer) == {"single_file": "used"}
        await client.delete(f"/v1/files/{identifier}")
        answer = (await client.post("/v1/chat/completions", json=body)).json()
    assert outcomes(answer) == {"single_file": "failed"}
    assert "has not uploaded it" in answer["choices"][0]["message"]["content"]
