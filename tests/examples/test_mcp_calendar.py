"""The calendar assistant, with the MCP server of the examples and its calendar."""

import json
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from examples.example_heddle import EXAMPLES, example
from integration.functions.upstream import Body, Delta, Upstream, calls, says, scripted

ASSISTANT = "assistants/mcp-calendar.yaml"
SERVER = [sys.executable, str(EXAMPLES / "mcp/calendar_server.py")]
QUESTION = "What happens in the week of 7 December?"
ANSWER = "The loom project is due on 11 December."
DEADLINE = (
    "Deadline of the loom project, Hand in the drawing and the sample by the end of the day; "
    "late work needs a reason."
)
WEEK = json.dumps({"first_day": "2026-12-07", "days": 7})


def by_turns(body: Body) -> Sequence[Delta]:
    """Call the calendar, and answer when it has answered."""
    called = body["messages"][-1]["role"] == "tool"
    return [says(ANSWER)] if called else [calls("list_events", WEEK)]


@pytest.fixture
async def model(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Upstream]:
    async with scripted(by_turns) as upstream:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", upstream.url)
        yield upstream


def allow(monkeypatch: pytest.MonkeyPatch, calendar: Path) -> None:
    commands = {"calendar": [*SERVER, str(calendar)]}
    monkeypatch.setenv("HEDDLE_TOOLS_MCP_COMMANDS", json.dumps(commands))


@pytest.mark.exhaustive
async def test_it_answers_from_the_calendar_over_mcp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Upstream
) -> None:
    allow(monkeypatch, EXAMPLES / "documents/calendar.ics")
    async with example(tmp_path, ASSISTANT) as heddle:
        answers = await heddle.ask("14", QUESTION)

    for answer in answers:
        assert (answer.text, answer.error, answer.warnings) == (ANSWER, {}, [])
        assert answer.outcomes == {"list_events": "used"}
    first, second = model.bodies[-2:]
    assert first["messages"][0]["content"].startswith("You answer questions about the calendar")
    assert first["messages"][-1]["content"].strip() == QUESTION
    assert [each["function"]["name"] for each in first["tools"]] == ["list_events"]
    head, *listed = second["messages"][-1]["content"].splitlines()
    assert head.endswith("3 events from 2026-12-07 to 2026-12-13, times in Europe/Madrid:")
    assert listed == [
        "Wednesday 2026-12-09 15:00-16:00 Office hour of Dr Ferrer, Room 114",
        "Thursday 2026-12-10 09:30-11:00 Lecture: Weaving I, Hall 2, ground floor",
        f"Friday 2026-12-11 all day {DEADLINE}",
    ]


async def test_without_the_server_the_request_fails_and_says_which_command_is_missing(
    tmp_path: Path, model: Upstream
) -> None:
    async with example(tmp_path, ASSISTANT) as heddle:
        answers = await heddle.ask("14", QUESTION)

    for answer in answers:
        assert answer.text == ""
        assert "the operator does not allow the command 'calendar'" in answer.error["message"]
        assert answer.error["code"] == "tool_failed"
    assert model.bodies == []


@pytest.mark.exhaustive
async def test_model_and_reader_learn_that_a_calendar_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Upstream
) -> None:
    allow(monkeypatch, tmp_path / "gone.ics")
    async with example(tmp_path, ASSISTANT) as heddle:
        answer = await heddle.streamed("14", QUESTION)

    assert "The calendar cannot be read." in model.bodies[-1]["messages"][-1]["content"]
    assert answer.outcomes == {"list_events": "failed"}
    assert answer.warnings[0].startswith("list_events failed: The MCP server's tool")
