"""Calls that a model writes into its text come out as calls, streamed and whole."""

import json
from typing import Any

import pytest
from heddle.chat.v1 import chat_pb2 as chat
from heddle.connector.v1 import connector_pb2 as pb
from heddle_connector.app import ConnectorSettings
from pydantic import ValidationError
from structlog.testing import capture_logs

from connector.provider import DONE, Exchange, chunk, provider, streaming, text
from connector.service import (
    answer,
    as_whole,
    asked,
    events,
    openai_at,
    said,
    service,
    text_and_failure,
)

WEATHER = chat.FunctionDeclaration(
    name="get_weather",
    description="Tells the weather.",
    parameters_schema_json='{"type":"object","properties":{"city":{"type":"string"}}}',
)
HERMES = '<tool_call>{"name": "get_weather", "arguments": {"city": "Größe"}}</tool_call>'
FINAL = "<|start|>assistant<|channel|>final<|message|>"
CODER = "<function=get_weather><parameter=city>Paris</parameter></function>"


def pieces(words: str, finish: str = "stop") -> list[bytes]:
    return [*map(text, words), chunk({}, finish), DONE]


def called(generated: list[pb.GenerationEvent]) -> list[tuple[str, Any]]:
    return [
        (event.tool_call.name, json.loads(event.tool_call.arguments_json))
        for event in generated
        if event.HasField("tool_call")
    ]


@pytest.mark.parametrize("written", [HERMES, CODER], ids=["hermes", "coder"])
async def test_a_written_call_is_told_as_one_and_no_mark_leaks(
    monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    script = streaming(*pieces(f"Let me look.\n{written}"))
    async with openai_at(script, monkeypatch) as (stub, _):
        generated = await events(stub, asked(functions=[WEATHER]))

    [(name, arguments)] = called(generated)
    assert name == "get_weather"
    assert arguments in ({"city": "Größe"}, {"city": "Paris"})
    assert answer(generated).strip() == "Let me look."
    assert generated[-1].done.finish_reason == chat.FINISH_REASON_TOOL_CALLS


@pytest.mark.parametrize(
    ("kind", "written"), [("integer", "7"), ("array", "[1]"), ("boolean", "true")]
)
async def test_what_is_written_as_text_gets_the_type_of_the_schema(
    monkeypatch: pytest.MonkeyPatch, kind: str, written: str
) -> None:
    kinds = ("string", kind)
    properties = {name: {"type": name} for name in kinds}
    schema = json.dumps({"type": "object", "properties": properties})
    function = chat.FunctionDeclaration(name="f", parameters_schema_json=schema)
    pairs = "".join(f"<parameter={name}>{written}</parameter>" for name in kinds)
    script = streaming(*pieces(f"<function=f>{pairs}</function>"))
    async with openai_at(script, monkeypatch) as (stub, _):
        [(_, arguments)] = called(await events(stub, asked(functions=[function])))

    assert arguments == {"string": written, kind: json.loads(written)}


async def test_values_have_the_types_that_the_function_declares(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    schema = {
        "type": "object",
        "$defs": {"Part": {"type": "object"}},
        "properties": {
            "count": {"type": "integer"},
            "parts": {"type": "array", "items": {"$ref": "#/$defs/Part"}},
            "first": {"$ref": "#/$defs/Part"},
            "code": {"type": "string"},
        },
    }
    order = chat.FunctionDeclaration(name="order", parameters_schema_json=json.dumps(schema))
    values = {"count": 2, "parts": [{"a": 1}], "first": {"b": [2]}, "code": "007"}
    texts = {**{name: json.dumps(value) for name, value in values.items()}, "code": "007"}
    written = "".join(f"<parameter={name}>\n{t}\n</parameter>\n" for name, t in texts.items())
    script = streaming(
        *pieces(f"<tool_call>\n<function=order>\n{written}</function>\n</tool_call>")
    )
    async with openai_at(script, monkeypatch) as (stub, _):
        generated = await events(stub, asked(functions=[order]))

    assert called(generated) == [("order", values)]


async def test_a_schema_that_cannot_be_read_leaves_values_as_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    schema = '{"properties":{"city":{"type":"integer","maximum":1e999}}}'
    odd = chat.FunctionDeclaration(name="get_weather", parameters_schema_json=schema)
    script = streaming(*pieces(CODER.replace("Paris", "7")))
    async with openai_at(script, monkeypatch) as (stub, _):
        generated = await events(stub, asked(functions=[odd]))

    assert called(generated) == [("get_weather", {"city": "7"})]


async def test_a_whole_answer_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(exchange: Exchange) -> None:
        message = {"role": "assistant", "content": f"{CODER}\n{HERMES}"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        await exchange.reply(200, json.dumps({"model": "m", "choices": [choice]}))

    async with openai_at(script, monkeypatch) as (stub, _):
        generated = await events(stub, as_whole(asked(functions=[WEATHER])))

    assert called(generated) == [
        ("get_weather", {"city": "Paris"}),
        ("get_weather", {"city": "Größe"}),
    ]
    identifiers = [event.tool_call.id for event in generated if event.HasField("tool_call")]
    assert len(set(identifiers)) == len(identifiers) == 2
    assert generated[-1].done.finish_reason == chat.FINISH_REASON_TOOL_CALLS


async def test_arguments_have_the_types_of_the_functions_schema(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    types = '{"properties":{"days":{"type":"integer"},"code":{"type":"string"}}}'
    forecast = chat.FunctionDeclaration(name="forecast", parameters_schema_json=types)
    written = "<function=forecast><parameter=days>3</parameter><parameter=code>3</parameter>"
    script = streaming(*pieces(f"{written}</function>"))
    async with openai_at(script, monkeypatch) as (stub, _):
        generated = await events(stub, asked(functions=[forecast]))

    assert called(generated) == [("forecast", {"days": 3, "code": "3"})]


async def test_without_functions_or_with_none_chosen_the_text_stays_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    none = chat.GenerationOptions(extra_json='{"tool_choice":"none"}')
    async with openai_at(streaming(*pieces(HERMES)), monkeypatch) as (stub, _):
        plain = await events(stub, asked())
        declined = await events(stub, asked(functions=[WEATHER], options=none))

    assert answer(plain) == answer(declined) == HERMES
    assert plain[-1].done.finish_reason == chat.FINISH_REASON_STOP


@pytest.mark.parametrize("finish", ["length", "stop"])
async def test_a_call_that_the_end_cuts_off_is_text_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, finish: str
) -> None:
    script = streaming(*pieces(f"Yes. {HERMES[:50]}", finish))
    async with openai_at(script, monkeypatch) as (stub, _):
        with capture_logs() as logs:
            generated = await events(stub, asked(functions=[WEATHER]))

    assert called(generated) == []
    assert {
        "event": "tool call in text is incomplete",
        "characters": 50,
        "log_level": "warning",
    } in logs
    assert answer(generated) == f"Yes. {HERMES[:50]}"
    [warning] = [event.warning for event in generated if event.HasField("warning")]
    assert warning.startswith("The answer ends inside a tool call")
    assert generated[-1].done.finish_reason == chat.FINISH_REASON_LENGTH


async def test_text_that_waits_for_its_end_is_not_lost_if_the_provider_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = streaming(*map(text, f"Yes. {HERMES[:50]}"))  # and then nothing: no reason, no end
    async with openai_at(script, monkeypatch) as (stub, _):
        error, shown = await text_and_failure(stub, asked(functions=[WEATHER]))

    assert error.reason == "PROVIDER_GARBLED"
    assert shown == f"Yes. {HERMES[:50]}"


@pytest.mark.parametrize("functions", [[], [WEATHER]], ids=["without tools", "with tools"])
@pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
@pytest.mark.parametrize(
    ("words", "shown", "reasoning"),
    [
        ("<think>\nHm.\n</think>\n\nYes.", "Yes.", "Hm."),
        ("[THINK]Hm.[/THINK]Yes.", "Yes.", "Hm."),
        (f"<|channel|>analysis<|message|>Hm.<|end|>{FINAL}Yes.", "Yes.", "Hm."),
        ("<think>Hm.", "", "Hm."),
        ("<think>So.<think>Hm.</think>Or.</think>Yes.", "Yes.", "So.<think>Hm.</think>Or."),
        ("<think>So.<think>Hm.</think>Yes.", "Yes.", "So.<think>Hm."),
        ("Sure.\n<think>Hm.</think>\nYes.", "Sure.\n\nYes.", "Hm."),
        ("Models write <think> and </think>.", "Models write <think> and </think>.", ""),
        ("```xml\n<think>\nHm.\n</think>\n```\n", "```xml\n<think>\nHm.\n</think>\n```\n", ""),
        ('{"mark": "<think>Hm.</think>"}', '{"mark": "<think>Hm.</think>"}', ""),
        ("Yes.\n<thin", "Yes.\n<thin", ""),
        ("Yes. \n", "Yes. \n", ""),
    ],
)  # fmt: skip
async def test_reasoning_in_the_text_is_the_same_with_and_without_tools(
    monkeypatch: pytest.MonkeyPatch,
    functions: list[chat.FunctionDeclaration],
    words: str,
    shown: str,
    reasoning: str,
    *,
    whole: bool,
) -> None:
    async def script(exchange: Exchange) -> None:
        if exchange.json.get("stream"):
            await exchange.stream(*pieces(words))
            return
        choice = {"index": 0, "message": {"content": words}, "finish_reason": "stop"}
        await exchange.reply(200, json.dumps({"model": "m", "choices": [choice]}))

    request = asked(functions=functions)
    async with openai_at(script, monkeypatch) as (stub, _):
        generated = await events(stub, as_whole(request) if whole else request)

    assert answer(generated) == shown
    assert "".join(event.reasoning_delta for event in generated) == reasoning
    assert generated[-1].done.finish_reason == chat.FINISH_REASON_STOP


async def test_native_calls_and_reasoning_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    function = {"name": "get_weather", "arguments": '{"city": "Rome"}'}
    native = {"index": 0, "id": "c1", "type": "function", "function": function}
    script = streaming(
        chunk({"reasoning_content": "Hm."}),
        text("Ok."),
        chunk({"tool_calls": [native]}),
        chunk({}, "tool_calls"),
        DONE,
    )
    async with openai_at(script, monkeypatch) as (stub, _):
        generated = await events(stub, asked(functions=[WEATHER]))

    assert called(generated) == [("get_weather", {"city": "Rome"})]
    assert "".join(event.reasoning_delta for event in generated) == "Hm."
    assert answer(generated) == "Ok."


async def test_what_is_written_beside_native_calls_is_not_called_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    function = {"name": "get_weather", "arguments": '{"city": "Rome"}'}
    native = {"index": 0, "id": "c1", "type": "function", "function": function}
    script = streaming(
        text(f"Ok. {HERMES}"), chunk({"tool_calls": [native]}), chunk({}, "tool_calls"), DONE
    )
    async with openai_at(script, monkeypatch) as (stub, _):
        with capture_logs() as logs:
            generated = await events(stub, asked(functions=[WEATHER]))

    assert called(generated) == [("get_weather", {"city": "Rome"})]
    assert answer(generated).strip() == "Ok."
    [logged] = [line for line in logs if line["log_level"] == "warning"]
    assert logged["event"] == "tool calls in text dropped in favour of native ones"
    assert logged["functions"] == ["get_weather"]


async def test_reasoning_that_is_written_into_the_text_is_not_shown_and_calls_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = streaming(*pieces(f"<think>Maybe {HERMES}?</think>\n\nNo need."))
    async with openai_at(script, monkeypatch) as (stub, _):
        generated = await events(stub, asked(functions=[WEATHER]))

    assert called(generated) == []
    assert answer(generated).strip() == "No need."
    assert "".join(event.reasoning_delta for event in generated) == f"Maybe {HERMES}?"


async def test_a_call_of_what_was_offered_earlier_only_is_logged_and_not_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    earlier = chat.Message(
        role=chat.ROLE_ASSISTANT,
        tool_calls=[chat.ToolCall(id="1", name="get_weather", arguments_json="{}")],
    )
    async with openai_at(streaming(*pieces(f"Hm. {HERMES}")), monkeypatch) as (stub, _):
        with capture_logs() as logs:
            generated = await events(stub, asked(messages=[said("Hi"), earlier]))

    assert called(generated) == []
    assert answer(generated).strip() == "Hm."
    assert generated[-1].done.finish_reason == chat.FINISH_REASON_STOP
    [logged] = [line for line in logs if line["log_level"] == "warning"]
    assert logged["event"] == "tool call in text but no tools declared"
    [warning] = [event.warning for event in generated if event.HasField("warning")]
    assert warning == (
        "The model called get_weather, which is no tool of this request; the call was not run."
    )


async def test_the_formats_of_a_model_can_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    formats = {"openai/coder*": ["qwen3_coder"], "openai/gpt-*": []}
    async with provider(streaming(*pieces(HERMES + CODER))) as made:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", f"{made.url}/v1")
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_API_KEY", "sk-test-0123456789abcdef")
        async with service(tool_call_parsers=formats) as stub:
            coder = await events(stub, asked(model="coder-30b", functions=[WEATHER]))
            plain = await events(stub, asked(model="gpt-9", functions=[WEATHER]))
            other = await events(stub, asked(model="m", functions=[WEATHER]))

    assert called(coder) == [("get_weather", {"city": "Paris"})]
    assert called(plain) == []
    assert answer(plain) == HERMES + CODER
    assert len(called(other)) == 2


def test_a_format_that_nobody_knows_is_refused_at_the_start() -> None:
    with pytest.raises(
        ValidationError, match=r"openai/x.*\s.*no tool call parser 'klingon'; there are .*hermes"
    ):
        ConnectorSettings(tool_call_parsers={"openai/x": ["klingon"]})
