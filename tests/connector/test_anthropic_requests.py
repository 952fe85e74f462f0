"""How conversations, tools and options become requests to Anthropic's Messages API."""

import base64
from typing import Any

import hypothesis
import pytest
from heddle.chat.v1 import chat_pb2 as chat
from heddle_connector.connectors.anthropic import Anthropic
from heddle_connector.sdk import InvalidRequestError
from heddle_connector.sdk.testing import ScriptedProvider, ask
from hypothesis import strategies as st
from runtime.examples import examples

from connector import anthropic_api as api
from connector.anthropic_api import claude, end, messages_api, start, text
from connector.provider import Exchange
from connector.service import events, failure
from connector.service import said as text_message

PNG = "data:image/png;base64," + base64.b64encode(b"\x89PNG").decode()
PDF = "data:application/pdf;base64," + base64.b64encode(b"%PDF-1.7").decode()
FUNCTION = {"name": "weather", "description": "The weather.", "parameters": {"properties": {}}}
TOOL = {"type": "function", "function": FUNCTION}
REPLY = b"".join([start(), *text(0, "Hi"), end()])
HELLO = [{"role": "user", "content": "Hello"}]


def body_of(messages: Any = HELLO, capabilities: Any = None, **members: Any) -> dict[str, Any]:
    """Return the body of the request for a chat completion. It is legal for the API."""
    listed = api.model_info(capabilities) if capabilities is not None else b"{}"
    version = members.pop("api_version", api.VERSION)
    provider = ScriptedProvider(REPLY, paths={f"/v1/models/{api.MODEL}": listed})
    environment = {"base_url": "{provider}", "api_key": api.KEY, "api_version": version}
    ask(Anthropic, messages, provider, model=api.MODEL, settings=environment, **members)
    body: dict[str, Any] = provider.requests[-1].json
    if version == api.VERSION:
        assert api.body_problems(body) == []
    return body


def call(call_id: str, name: str = "weather", arguments: str = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(call_id: str, content: Any = "Rain.") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def test_a_conversation_is_put_in_the_apis_terms() -> None:
    pictures = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": PNG, "detail": "high"}},
        {"type": "image_url", "image_url": {"url": "https://e.example/a.png"}},
        {"type": "file", "file": {"file_data": PDF, "filename": "a.pdf"}},
    ]
    body = body_of(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": pictures, "name": "ann"},
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [call("a", arguments='{"x": 1}'), call("b", "other", "{oops")],
            },
            result("b", [{"type": "text", "text": "3"}, pictures[1]]),
            result("a", ""),
            {"role": "developer", "content": "Answer in French."},
            {"role": "user", "content": "And?"},
        ],
        max_tokens=7,
        stop=["END"],
        tools=[TOOL],
    )
    image = {"type": "base64", "media_type": "image/png", "data": PNG.partition(",")[2]}
    document = {"type": "base64", "media_type": "application/pdf", "data": PDF.partition(",")[2]}
    assert body == {
        "model": api.MODEL,
        "max_tokens": 7,
        "system": "Be brief.\nAnswer in French.",
        "stop_sequences": ["END"],
        "stream": True,
        "messages": [
            {
                "role": "user",
                "content": [
                    block("What is this?"),
                    {"type": "image", "source": image},
                    {"type": "image", "source": {"type": "url", "url": "https://e.example/a.png"}},
                    {"type": "document", "source": document},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    block("I look."),
                    {"type": "tool_use", "id": "a", "name": "weather", "input": {"x": 1}},
                    {"type": "tool_use", "id": "b", "name": "other", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "b",
                        "content": [block("3"), {"type": "image", "source": image}],
                    },
                    {"type": "tool_result", "tool_use_id": "a"},
                    block("And?"),
                ],
            },
        ],
        "tools": [
            {
                "name": "weather",
                "description": "The weather.",
                "input_schema": {"type": "object", "properties": {}},
            }
        ],
    }


@pytest.mark.parametrize(
    ("messages", "turns"),
    [
        (
            [*HELLO, {"role": "user", "content": "There"}],
            [("user", ["Hello", "There"])],
        ),
        (
            [*HELLO, {"role": "assistant", "content": " \n"}, {"role": "user", "content": ""}],
            [("user", ["Hello"])],
        ),
        (
            [{"role": "assistant", "content": "Welcome."}, *HELLO],
            [
                ("user", ["[The conversation begins with the assistant.]"]),
                ("assistant", ["Welcome."]),
                ("user", ["Hello"]),
            ],
        ),
        (
            [*HELLO, {"role": "assistant", "content": "One, two"}],
            [("user", ["Hello"]), ("assistant", ["One, two"]), ("user", ["Continue."])],
        ),
        (
            [*HELLO, {"role": "system", "content": "Be brief."}],
            [("user", ["Hello"])],
        ),
    ],
    ids=["one role twice", "blank texts", "assistant first", "assistant last", "system last"],
)
def test_turns_alternate_and_begin_and_end_with_the_user(
    messages: Any, turns: list[tuple[str, list[str]]]
) -> None:
    body = body_of(messages)
    assert turns == [
        (turn["role"], [each["text"] for each in turn["content"]]) for turn in body["messages"]
    ]


def test_results_come_first_and_identifiers_are_unique() -> None:
    """Other providers' identifiers have other characters, or are names that occur twice."""
    body = body_of(
        [
            *HELLO,
            {"role": "assistant", "tool_calls": [call("functions.weather:0"), call("weather")]},
            {"role": "user", "content": "Quick!"},
            result("functions.weather:0", "a"),
            result("weather", "b"),
            {"role": "assistant", "tool_calls": [call("weather")]},
            result("weather", "c"),
        ],
        tools=[TOOL],
    )
    ids = [each["id"] for turn in body["messages"][1::2] for each in turn["content"]]
    assert ids == ["functions_weather_0", "weather", "weather_2"]
    results = [
        (each.get("tool_use_id"), each.get("content", [each])[0]["text"])
        for turn in body["messages"][2::2]
        for each in turn["content"]
    ]
    assert results == [(ids[0], "a"), (ids[1], "b"), (None, "Quick!"), (ids[2], "c")]


def test_calls_stay_declared_when_the_model_may_call_nothing_more() -> None:
    talk = [*HELLO, {"role": "assistant", "tool_calls": [call("a")]}, result("a")]
    body = body_of(talk)
    assert body["tools"] == [{"name": "weather", "input_schema": {"type": "object"}}]
    assert body["tool_choice"] == {"type": "none"}


ANY = {"type": "any"}
NAMED = {"type": "function", "function": {"name": "weather"}}


@pytest.mark.parametrize(
    ("choice", "parallel", "expected"),
    [
        (None, None, None),
        (None, True, None),
        (None, False, {"type": "auto", "disable_parallel_tool_use": True}),
        ("auto", None, {"type": "auto"}),
        ("none", False, {"type": "none"}),
        ("required", None, ANY),
        ("required", False, {**ANY, "disable_parallel_tool_use": True}),
        (NAMED, None, {"type": "tool", "name": "weather"}),
    ],
)
def test_the_choice_of_tools(choice: Any, parallel: Any, expected: Any) -> None:
    options = {"tool_choice": choice, "parallel_tool_calls": parallel}
    chosen = {name: value for name, value in options.items() if value is not None}
    assert body_of(tools=[TOOL], **chosen).get("tool_choice") == expected
    assert "tool_choice" not in body_of(**chosen)


def test_a_strict_function_stays_strict() -> None:
    function = {"name": "f", "strict": True}
    [tool] = body_of(tools=[{"type": "function", "function": function}])["tools"]
    assert tool == {"name": "f", "input_schema": {"type": "object"}, "strict": True}


def test_the_limit_of_tokens_is_the_clients_or_the_operators() -> None:
    assert body_of()["max_tokens"] == 16_000
    assert body_of(max_tokens=5)["max_tokens"] == 5
    assert body_of(max_completion_tokens=6)["max_tokens"] == 6


def test_sampling_is_left_out_for_versions_of_the_api_without_it() -> None:
    members = {"temperature": 1.5, "top_p": 0.5, "seed": 1, "logit_bias": {"1": 2}}
    assert body_of(**members) == body_of()
    old = body_of(api_version="2023-06-01", **members)
    assert (old["temperature"], "top_p" in old) == (1.0, False)
    old = body_of(api_version="2023-06-01", top_p=0.5)
    assert old["top_p"] == 0.5
    thinks = {"type": "enabled", "budget_tokens": 1024}
    old = body_of(api_version="2023-06-01", temperature=0.5, thinking=thinks)
    assert (old["thinking"], "temperature" in old) == (thinks, False)


SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}


def test_a_schema_for_the_answer() -> None:
    schema_format = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}
    body = body_of(response_format=schema_format, output_config={"effort": "low"})
    output = {"type": "json_schema", "schema": SCHEMA}
    assert body["output_config"] == {"effort": "low", "format": output}
    assert "output_config" not in body_of(response_format={"type": "text"})


SUMMARY = {"type": "adaptive", "display": "summarized"}
RECENT = api.capabilities(adaptive=True, between_tools=True, efforts=("low", "medium", "high"))
OLDER = api.capabilities(enabled=True, disabled=True)
PLAIN = api.capabilities(disabled=True)


@pytest.mark.parametrize(
    ("effort", "capabilities", "thinking", "level"),
    [
        ("minimal", RECENT, SUMMARY, "low"),
        ("medium", RECENT, SUMMARY, "medium"),
        ("max", RECENT, SUMMARY, "high"),
        ("none", RECENT, {"type": "between_tools"}, None),
        ("low", OLDER, {"type": "enabled", "budget_tokens": 3200}, None),
        ("high", OLDER, {"type": "enabled", "budget_tokens": 12800}, None),
        ("none", OLDER, {"type": "disabled"}, None),
        ("high", PLAIN, None, None),
        ("xhigh", None, SUMMARY, "xhigh"),
        ("none", None, {"type": "disabled"}, None),
    ],
)
def test_an_effort_becomes_the_models_form_of_it(
    effort: str, capabilities: Any, thinking: Any, level: str | None
) -> None:
    body = body_of(capabilities=capabilities, reasoning_effort=effort)
    assert body.get("thinking") == thinking
    assert body.get("output_config", {}).get("effort") == level


@pytest.mark.parametrize("members", [{"max_tokens": 1024}, {"tool_choice": "required"}])
def test_a_budget_that_the_api_would_reject_is_left_out(members: dict[str, Any]) -> None:
    body = body_of(capabilities=OLDER, reasoning_effort="high", tools=[TOOL], **members)
    assert "thinking" not in body


def test_the_clients_own_form_of_reasoning_has_priority() -> None:
    body = body_of(thinking={"type": "disabled"}, reasoning_effort="high")
    assert body["thinking"] == {"type": "disabled"}
    assert "output_config" not in body


async def test_capabilities_are_asked_for_once_per_model_and_only_for_an_effort(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def script(exchange: Exchange) -> None:
        if exchange.method == "GET":
            await exchange.reply(200, api.model_info(OLDER))
        else:
            await exchange.stream(REPLY)

    options = api.extra(reasoning_effort="low")
    async with claude(script, monkeypatch) as (stub, provider):
        for _ in range(2):
            await events(stub, api.ask(options=options))
        await events(stub, api.ask())
    paths = [exchange.path for exchange in provider.exchanges]
    assert paths == [f"/v1/models/{api.MODEL}", *["/v1/messages"] * 3]


AUDIO = chat.ContentPart(audio=chat.Media(data=b"x", media_type="audio/wav"))
WORD = chat.ContentPart(file=chat.Media(data=b"x", media_type="application/msword"))
IMAGE = chat.ContentPart(image=chat.Media(data=b"x", media_type="image/png"))
GREETING = [text_message("Hello")]
FOREIGN = chat.ContentPart(foreign=chat.ForeignPart(type="x", json='{"type":"x"}'))


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (api.ask(messages=[chat.Message(role=chat.ROLE_USER, parts=[AUDIO])]), "texts, images"),
        (api.ask(messages=[chat.Message(role=chat.ROLE_USER, parts=[WORD])]), "texts, images"),
        (api.ask(messages=[chat.Message(role=chat.ROLE_USER, parts=[FOREIGN])]), "texts, images"),
        (
            api.ask(messages=[chat.Message(role=chat.ROLE_SYSTEM, parts=[IMAGE]), *GREETING]),
            "texts only",
        ),
        (api.ask(messages=[text_message(" ")]), "no message for the"),
        (
            api.ask(messages=[text_message("Be brief.", chat.ROLE_SYSTEM)]),
            "no message for the model",
        ),
        (
            api.ask(functions=[chat.FunctionDeclaration(foreign_json='{"type":"web_search"}')]),
            "functions as tools only",
        ),
        (
            api.ask(
                functions=[chat.FunctionDeclaration(name="f")], options=api.extra(tool_choice="any")
            ),
            "choice of tools is unknown",
        ),
        (api.ask(options=api.extra(response_format={"type": "json_object"})), "no JSON mode"),
        (api.ask(options=api.extra(reasoning_effort="utmost")), "reasoning effort is unknown"),
    ],
    ids=range(10),
)
async def test_what_the_api_cannot_take_is_refused_before_it_is_asked(
    request_: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with claude(messages_api(REPLY), monkeypatch) as (stub, provider):
        error = await failure(stub, request_)
    assert type(error) is InvalidRequestError
    assert message in error.message
    assert not provider.exchanges


@pytest.mark.parametrize(
    "content",
    [
        "oops",
        [{"type": "thinking"}],
        [{"type": "tool_use", "id": "other", "name": "f", "input": {}}],
        [{"type": "document"}, {"type": "tool_use", "id": "a", "name": "f", "input": {}}],
    ],
)
def test_content_that_does_not_belong_to_the_calls_is_not_used(content: Any) -> None:
    earlier = {"role": "assistant", "tool_calls": [call("a")], "anthropic_content": content}
    body = body_of([*HELLO, earlier, result("a")], tools=[TOOL])
    assert body["messages"][1]["content"] == [
        {"type": "tool_use", "id": "a", "name": "weather", "input": {}}
    ]


texts = st.sampled_from(["", " ", "\n", "a", "Hello there."])
parts = st.one_of(
    texts,
    st.lists(
        st.one_of(texts.map(block), st.just({"type": "image_url", "image_url": {"url": PNG}})),
        max_size=3,
    ),
)


arguments = st.sampled_from(["{}", '{"a": 1}', "", "[", "1"])


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Return a conversation of any roles, in which every call has its result."""
    messages: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(0, 6))):
        role = draw(st.sampled_from(["system", "developer", "user", "assistant", "calls"]))
        if role != "calls":
            messages.append({"role": role, "content": draw(parts if role == "user" else texts)})
            continue
        ids = draw(st.lists(st.sampled_from(["a", "b:0", "b.0", "", "ü"]), min_size=1, unique=True))
        calls = [
            call(each, arguments=draw(st.sampled_from(["{}", '{"a": 1}', "", "[", "1"])))
            for each in ids
        ]
        messages.append({"role": "assistant", "content": draw(texts), "tool_calls": calls})
        messages += [result(each, draw(parts)) for each in draw(st.permutations(ids))]
    return [*messages, *HELLO]


@examples(150)
@hypothesis.given(messages=conversations(), with_tools=st.booleans())
def test_every_conversation_is_legal(messages: Any, *, with_tools: bool) -> None:
    body_of(messages, tools=[TOOL] if with_tools else [])
