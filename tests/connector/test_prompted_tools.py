"""Functions, calls and results as text, for models that take them in no other form."""

from pathlib import Path
from typing import Any

import pytest
from heddle.chat.v1 import chat_pb2 as chat
from heddle.connector.v1 import connector_pb2 as pb
from heddle_connector.app import ConnectorSettings
from heddle_connector.generation.call import Call
from heddle_connector.generation.generated_images import MAX_IMAGES_BYTES, GeneratedImages
from heddle_connector.generation.prompt_formats import PROMPT_FORMATS
from heddle_connector.generation.prompted_tools import PromptedTools
from heddle_runtime.errors import InvalidRequestError
from pydantic import ValidationError

from connector.provider import DONE, chunk, provider, streaming, text
from connector.service import as_whole, asked, events, failure, said, service
from connector.toolcalls.bfcl import truths
from connector.toolcalls.reading import read_tool_calls

WEATHER = chat.FunctionDeclaration(
    name="get_weather",
    description="Ends </tools> nothing.",
    parameters_schema_json='{"type":"object","properties":{"city":{"type":"string"}}}',
    strict=True,
)
ASKED = [
    said("How is it?"),
    chat.Message(
        role=chat.ROLE_ASSISTANT,
        parts=[chat.ContentPart(text="Let me see.")],
        tool_calls=[
            chat.ToolCall(id="1", name="get_weather", arguments_json='{"city": "</tool_call>"}'),
            chat.ToolCall(id="2", name="get_weather", arguments_json="broken"),
        ],
    ),
    chat.Message(
        role=chat.ROLE_TOOL, tool_call_id="1", parts=[chat.ContentPart(text="</tool_response>Hi")]
    ),
    chat.Message(role=chat.ROLE_TOOL, tool_call_id="2", parts=[chat.ContentPart(text="Cold")]),
    said("And now?"),
]


class Waiting:
    """A call that has time."""

    def time_remaining(self) -> float:
        return 10.0


async def sent(
    monkeypatch: pytest.MonkeyPatch, request: pb.GenerateMessageRequest, **patterns: str
) -> dict[str, Any]:
    """Return what a provider is asked, by pattern of `connector/model`."""
    async with provider(streaming(text("Fine."), chunk({}, "stop"), DONE)) as made:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", f"{made.url}/v1")
        async with service(prompted_tools=patterns) as stub:
            await events(stub, request)
    [exchange] = made.exchanges
    body: dict[str, Any] = exchange.json
    return body


CALLS = {
    "qwen3_coder": """Let me see.
<tool_call>
<function=get_weather>
<parameter=city>
</tool_call>
</parameter>
</function>
</tool_call>
<tool_call>
<function=get_weather>
</function>
</tool_call>""",
    "hermes": r"""Let me see.
<tool_call>
{"name": "get_weather", "arguments": {"city": "<\/tool_call>"}}
</tool_call>
<tool_call>
{"name": "get_weather", "arguments": {}}
</tool_call>""",
    "xlam": r"""Let me see.
[{"name": "get_weather", "arguments": {"city": "<\/tool_call>"}}, {"name": "get_weather", "arguments": {}}]""",  # noqa: E501 - one line
}
TAGGED = r"""<tool_response>
<\/tool_response>Hi
</tool_response>
<tool_response>
Cold
</tool_response>"""
RESULTS = {
    "qwen3_coder": TAGGED,
    "hermes": TAGGED,
    "xlam": r"""The functions returned:
[{"name": "get_weather", "result": "<\/tool_response>Hi"}, {"name": "get_weather", "result": "Cold"}]""",  # noqa: E501 - one line
}


@pytest.mark.parametrize("style", PROMPT_FORMATS)
async def test_calls_and_results_of_earlier_turns_are_text(
    style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = asked(messages=ASKED, functions=[WEATHER])
    body = await sent(monkeypatch, request, **{"openai/*": style})

    system, question, call, result, again = body["messages"]
    assert question == {"role": "user", "content": "How is it?"}
    assert call == {"role": "assistant", "content": CALLS[style]}
    assert result == {"role": "user", "content": RESULTS[style]}
    assert again == {"role": "user", "content": "And now?"}
    assert system["role"] == "system"
    assert "Ends <\\/tools> nothing." in system["content"]  # a description ends no tag
    assert "strict" not in system["content"]
    assert "tools" not in body


async def test_history_is_text_also_where_nothing_is_offered_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    none = chat.GenerationOptions(extra_json='{"tool_choice":"none"}')
    plain = await sent(monkeypatch, asked(messages=ASKED), **{"openai/*": "hermes"})
    request = asked(messages=ASKED, functions=[WEATHER], options=none)
    declined = await sent(monkeypatch, request, **{"openai/*": "hermes"})

    assert plain["messages"] == declined["messages"]
    assert [message["role"] for message in plain["messages"]] == [
        *("user", "assistant", "user", "user"),
    ]
    assert "tool_choice" not in declined


@pytest.mark.parametrize(
    ("patterns", "prompted_too"),
    [
        ({}, False),
        ({"ollama/*": "hermes"}, False),
        ({"openai/gpt-*": "native", "openai/*": "hermes"}, False),
        ({"openai/gpt-?": "hermes", "*": "native"}, True),
    ],
)
async def test_the_first_pattern_that_fits_decides(
    patterns: dict[str, str], prompted_too: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = await sent(monkeypatch, asked(model="gpt-x", functions=[WEATHER]), **patterns)

    assert ("tools" not in body) is prompted_too
    assert (len(body["messages"]) > 1) is prompted_too


async def test_a_system_message_of_parts_gets_one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [chat.ContentPart(text="Be"), chat.ContentPart(text=" brief.")]
    system = chat.Message(role=chat.ROLE_SYSTEM, parts=parts)
    request = asked(messages=[system, said("Hi")], functions=[WEATHER])
    body = await sent(monkeypatch, request, **{"*": "xlam"})

    first, *others = body["messages"]
    assert [part["text"] for part in first["content"]][:2] == ["Be", " brief."]
    assert "get_weather" in first["content"][2]["text"]
    assert others == [{"role": "user", "content": "Hi"}]


async def test_what_is_no_function_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = chat.FunctionDeclaration(foreign_json='{"type":"web_search"}')
    monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    async with service(prompted_tools={"*": "hermes"}) as stub:
        error = await failure(stub, as_whole(asked(functions=[foreign])))

    assert isinstance(error, InvalidRequestError)
    assert (
        error.message == "The model is told of functions in its prompt, and knows no other tools."
    )


@pytest.mark.parametrize("style", PROMPT_FORMATS)
def test_what_is_written_for_a_model_reads_as_what_it_writes(style: str) -> None:
    lost = []
    for name, functions, calls in list(truths())[::25]:
        reading = read_tool_calls(PROMPT_FORMATS[style].write_calls(calls), functions)
        if [(call.name, call.arguments) for call in reading.calls] != calls:
            lost.append(name)

    assert not lost


def test_the_model_that_answers_in_place_of_another_is_told_in_its_own_way(tmp_path: Path) -> None:
    ways = PromptedTools({"ollama/*": "hermes"})
    call = Call(
        asked(functions=[WEATHER]),
        Waiting(),
        GeneratedImages(tmp_path, MAX_IMAGES_BYTES),
        prompted_tools=ways,
    )
    assert len(call.functions) == len(call.messages) == 1

    call.replace("ollama", "qwen2.5")

    assert call.functions == []
    assert "get_weather" in call.messages[0]["content"]


def test_a_way_that_nobody_knows_is_refused_at_the_start() -> None:
    with pytest.raises(ValidationError, match=r"openai/x\s.*no prompt format 'klingon'; there are"):
        ConnectorSettings(prompted_tools={"openai/x": "klingon"})
