"""What the orchestrator is asked for, given what a client sent."""

import base64
import json
from typing import Any

import pytest
from heddle.chat.v1 import chat_pb2
from heddle_gateway.openai.chat.request import ChatRequest, parse_request
from heddle_runtime.errors import InvalidRequestError
from hypothesis import given
from hypothesis import strategies as st

HI = [{"role": "user", "content": "hi"}]
PNG = b"\x89PNG\r\n\x1a\n"
PNG_URL = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"


def ordered(**body: object) -> ChatRequest:
    return parse_request(json.dumps({"model": "m", "messages": HI, **body}).encode())


def refused(**body: object) -> tuple[str, str]:
    """Return the place and the message of the complaint about a body."""
    with pytest.raises(InvalidRequestError) as caught:
        ordered(**body)
    return caught.value.violations[0].field, caught.value.message


def test_typed_members_reach_their_fields() -> None:
    request = ordered(
        temperature=0.2, top_p=1, max_tokens=5, stop=["a", "b"], seed=-(2**63), stream=True
    ).run
    options = request.options
    assert (options.temperature, options.top_p, options.max_tokens) == (0.2, 1.0, 5)
    assert (list(options.stop), options.seed) == (["a", "b"], -(2**63))
    assert request.assistant_reference == "m"


def test_an_answer_is_streamed_only_if_it_is_asked_for() -> None:
    assert ordered(stream=True).stream
    assert not ordered(stream=False).stream
    assert not ordered().stream


def test_the_newer_name_of_the_token_limit_wins_and_is_passed_on() -> None:
    assert ordered(max_tokens=5, max_completion_tokens=7).run.options.max_tokens == 7
    assert ordered(max_completion_tokens=7, max_tokens=5).run.options.max_tokens == 7
    options = ordered(max_completion_tokens=7).run.options
    assert json.loads(options.extra_json) == {"max_completion_tokens": 7}
    assert not ordered(max_tokens=7).run.options.extra_json
    least = ordered(max_tokens=0, max_completion_tokens=0).run.options
    assert (least.max_tokens, least.extra_json) == (1, "")


def test_null_means_absent_everywhere() -> None:
    names = ("temperature", "top_p", "max_tokens", "stop", "seed", "n", "tools", "stream", "user")
    absent = ordered()
    assert ordered(**dict.fromkeys(names), stream_options=None, logit_bias=None) == absent


def test_members_that_are_not_modelled_pass_byte_for_byte() -> None:
    body = (
        b'{"model":"m","messages":[{"role":"user","content":"hi"}],'
        b'"logit_bias": { "42":-1.0 },"big":12345678901234567890123,'
        b'"user":{"id": 1,"name":"\\u00e9"}}'
    )
    assert parse_request(body).run.options.extra_json == (
        '{"logit_bias":{ "42":-1.0 },"big":12345678901234567890123,'
        '"user":{"id": 1,"name":"\\u00e9"}}'
    )


def test_penalties_are_checked_and_passed_on() -> None:
    assert ordered(frequency_penalty=-2).run.options.extra_json == '{"frequency_penalty":-2}'
    assert refused(presence_penalty=2.1)[0] == "presence_penalty"


def test_members_that_name_addresses_keys_or_people_go_nowhere() -> None:
    request = ordered(
        api_base="http://evil",
        base_url="http://evil",
        api_key="k",
        __openwebui_headers__={"a": "b"},
    ).run
    assert request.options.extra_json == ""


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"temperature": 2.1}, "temperature"),
        ({"temperature": "1"}, "temperature"),
        ({"temperature": True}, "temperature"),
        ({"top_p": -0.1}, "top_p"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"parallel_tool_calls": 1}, "parallel_tool_calls"),
        ({"max_completion_tokens": 2**31}, "max_completion_tokens"),
        ({"seed": 2**63}, "seed"),
        ({"seed": 1.0}, "seed"),
        ({"stop": list("abcde")}, "stop"),
        ({"stop": [1]}, "stop[0]"),
        ({"n": 0}, "n"),
        ({"n": 9}, "n"),
        ({"n": True}, "n"),
        ({"top_logprobs": 21}, "top_logprobs"),
        ({"stream": "yes"}, "stream"),
        ({"model": None}, "model"),
        ({"model": ""}, "model"),
        ({"model": 1}, "model"),
        ({"model": "m" * 257}, "model"),
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": [1]}, "messages[0]"),
        ({"messages": [{"content": "hi"}]}, "messages[0].role"),
        ({"messages": [{"role": "wizard", "content": "hi"}]}, "messages[0].role"),
        ({"messages": [*HI, {"role": "user"}]}, "messages[1].content"),
        ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [{}]}]}, "messages[0].content[0].type"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].tool_call_id"),
        ({"tools": {}}, "tools"),
        ({"tools": [{"type": "function"}]}, "tools[0].function"),
        ({"tools": [{"function": {"name": ""}}]}, "tools[0].function.name"),
        ({"tools": [{"function": {"name": "f"}}] * 2}, "tools[1].function.name"),
    ],
)
def test_a_wrong_member_is_named(body: dict[str, object], place: str) -> None:
    field, message = refused(**body)
    assert field == place
    assert message.startswith(place)


def test_a_conversation_has_so_many_parts_in_all() -> None:
    parts = [{"type": "text", "text": "hi"}] * 1_000
    said = [{"role": "user", "content": parts}] * 10

    assert sum(len(each.parts) for each in ordered(messages=said).run.messages) == 10_000
    told = ("messages", "messages must have at most 10,000 parts in all.")
    assert refused(messages=[*said, {"role": "user", "content": parts[:1]}]) == told


def test_several_answers_are_asked_for() -> None:
    assert [ordered(**it).run.candidates for it in ({}, {"n": None}, {"n": 1}, {"n": 8})] == [
        *(0, 0, 0, 8)
    ]


def test_content_may_be_a_string_or_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": ""}]
    request = ordered(messages=[{"role": "user", "content": parts}, *HI]).run
    assert [part.text for part in request.messages[0].parts] == ["a", ""]
    assert request.messages[1].parts[0].text == "hi"


def test_pictures_become_bytes_or_stay_addresses() -> None:
    parts = [
        {"type": "image_url", "image_url": {"url": PNG_URL, "detail": "high"}},
        {"type": "image_url", "image_url": "https://example.org/a.png"},
    ]
    request = ordered(messages=[{"role": "user", "content": parts}]).run
    images = [part.image for part in request.messages[0].parts]
    assert images[0] == chat_pb2.Media(
        data=PNG, media_type="image/png", image_detail=chat_pb2.IMAGE_DETAIL_HIGH
    )
    assert images[1] == chat_pb2.Media(uri="https://example.org/a.png")


def test_sound_and_files_become_bytes() -> None:
    data = base64.b64encode(b"abc").decode()
    parts = [
        {"type": "input_audio", "input_audio": {"data": data, "format": "mp3"}},
        {"type": "file", "file": {"file_data": data, "filename": "a.pdf"}},
        {"type": "file", "file": {"file_data": f"data:text/plain;base64,{data}"}},
    ]
    found = ordered(messages=[{"role": "user", "content": parts}]).run.messages[0].parts
    assert found[0].audio == chat_pb2.Media(data=b"abc", media_type="audio/mpeg")
    assert found[1].file == chat_pb2.Media(
        data=b"abc", media_type="application/pdf", filename="a.pdf"
    )
    assert found[2].file == chat_pb2.Media(data=b"abc", media_type="text/plain")


@pytest.mark.parametrize(
    "url",
    [
        *("http://169.254.169.254/", "file:///etc/passwd", "ftp://a/b", "javascript:alert(1)"),
        *("data:image/png,plain", "data:image/png;base64,%%%", "", "//host/a.png"),
    ],
)
def test_other_addresses_of_pictures_are_refused(url: str) -> None:
    part = {"type": "image_url", "image_url": {"url": url}}
    place, _ = refused(messages=[{"role": "user", "content": [part]}])
    assert place == "messages[0].content[0].image_url.url"


def test_parts_of_other_kinds_are_kept_as_they_were_written() -> None:
    body = b"""{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"},
        {"type" : "video_url","video_url":{"url":"https://e/v", "fps":1.50}},
        {"type":"text","text":"b"}]}]}"""
    parts = parse_request(body).run.messages[0].parts
    assert parts[1].foreign.type == "video_url"
    assert parts[1].foreign.json == (
        '{"type" : "video_url","video_url":{"url":"https://e/v", "fps":1.50}}'
    )


def test_a_tool_round_of_the_client_survives() -> None:
    messages = [
        *HI,
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{bad"}}
            ],
            "reasoning_content": "hm",
            "refusal": None,
        },
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
        {"role": "user", "name": "ana", "content": "so?"},
    ]
    found = ordered(messages=messages).run.messages
    assert found[1].tool_calls[0] == chat_pb2.ToolCall(id="c1", name="f", arguments_json="{bad")
    assert found[1].extra_json == '{"reasoning_content":"hm"}'
    assert not found[1].parts
    assert (found[2].role, found[2].tool_call_id) == (chat_pb2.ROLE_TOOL, "c1")
    assert found[3].participant == "ana"


def test_calls_of_kinds_that_are_not_modelled_are_handed_on() -> None:
    calls = [{"id": "c1", "type": "custom", "custom": {"name": "f", "input": "x"}}]
    messages = [{"role": "assistant", "content": "a", "tool_calls": calls}]
    found = ordered(messages=messages).run.messages[0]
    assert json.loads(found.extra_json) == {"tool_calls": calls}
    assert not found.tool_calls


def test_what_a_provider_put_into_a_call_is_kept_as_it_was_written() -> None:
    call = (
        b'{"index":0,"id":"c","type":"function","function":{"name":"f"},"n":null,'
        b'"extra_content":{"google":{ "n":1.0 }}}'
    )
    foreign = b'{"id":"d","type":"builtin_function","function":{"name":"$web"}}'
    body = b'{"model":"m","messages":[{"role":"assistant","tool_calls":[%b,%b]}]}'
    first, second = parse_request(body % (call, foreign)).run.messages[0].tool_calls
    assert first.extra_json == '{"extra_content":{"google":{ "n":1.0 }}}'
    assert second.extra_json == '{"type":"builtin_function"}'


def test_the_old_way_of_calling_functions_still_reads() -> None:
    messages = [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "42"},
    ]
    choice = {"name": "f"}
    chat = ordered(messages=messages, functions=[{"name": "f"}], function_call=choice)
    run = chat.run
    assert chat.legacy
    assert run.messages[0].tool_calls[0].id == run.messages[1].tool_call_id == "f"
    assert [function.name for function in run.functions] == ["f"]
    assert json.loads(run.options.extra_json) == {
        "tool_choice": {"type": "function", "function": {"name": "f"}}
    }


@pytest.mark.parametrize(
    ("members", "place"),
    [
        ({"function_call": "auto"}, "function_call"),
        ({"functions": [{"name": "f"}], "function_call": {"name": "g"}}, "function_call.name"),
        ({"functions": [{"name": "f"}, {"name": "f"}]}, "functions[1].name"),
        ({"functions": [{"name": "f"}], "function_call": "required"}, "function_call"),
    ],
)
def test_functions_in_the_older_form_are_refused_by_name(members: Any, place: str) -> None:
    assert refused(messages=HI, **members)[0] == place


def test_tools_win_over_functions_in_the_older_form_with_a_warning() -> None:
    older = {"functions": [{"name": "f"}], "function_call": {"name": "f"}}
    chat = ordered(messages=HI, tools=[{"function": {"name": "g"}}], **older)
    assert [each.name for each in chat.run.functions] == ["g"]
    assert (chat.legacy, chat.run.options.extra_json) == (False, "")
    assert [each.split(":")[0] for each in chat.warnings] == [
        "functions and function_call were left out"
    ]
    assert not ordered(messages=HI, **older).warnings


def test_functions_are_declared_with_their_schema_as_it_was_written() -> None:
    body = (
        b'{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":['
        b'{"type":"function","function":{"name":"f","description":"d","strict":true,'
        b'"parameters":{"type": "object","z":1,"a":2}}},'
        b'{"type":"custom","custom": {"name":"g"}}]}'
    )
    functions = parse_request(body).run.functions
    assert functions[0] == chat_pb2.FunctionDeclaration(
        name="f",
        description="d",
        strict=True,
        parameters_schema_json='{"type": "object","z":1,"a":2}',
    )
    assert functions[1].foreign_json == '{"type":"custom","custom": {"name":"g"}}'


@pytest.mark.parametrize("body", [{"prompt": "why"}, {"params": {"prompt": "why"}}])
def test_a_prompt_can_stand_for_the_messages(body: dict[str, object]) -> None:
    request = parse_request(json.dumps({"model": "m", **body}).encode()).run
    assert request.messages[0].parts[0].text == "why"
    assert request.options.extra_json == ""


def test_another_assistant_than_the_body_says_can_be_named() -> None:
    body = json.dumps({"messages": HI}).encode()
    assert parse_request(body, "7").run.assistant_reference == "7"
    assert parse_request(body, "7").model == "lamb_assistant.7"


def test_usage_is_streamed_only_if_it_is_asked_for() -> None:
    asked = {"include_usage": True}
    assert ordered(stream=True, stream_options=asked).usage
    assert not ordered(stream=False, stream_options=asked).usage


texts = st.text(st.characters(codec="utf-8"))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
json_values = st.recursive(
    scalars.filter(lambda value: value not in (float("inf"), float("-inf"))),
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=8,
)


@given(
    text=texts,
    extra=st.dictionaries(texts.map("x".__add__), json_values),
    escape=st.booleans(),
)
def test_any_text_and_any_further_member_arrive(
    text: str, extra: dict[str, object], escape: bool
) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": text}], **extra}
    request = parse_request(json.dumps(body, ensure_ascii=escape).encode()).run
    assert request.messages[0].parts[0].text == text
    found = json.loads(request.options.extra_json or "{}")
    assert found == {name: value for name, value in extra.items() if value is not None}


@given(st.text())
def test_halves_of_surrogate_pairs_become_replacement_characters(text: str) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    found = parse_request(json.dumps(body).encode()).run.messages[0].parts[0].text
    # JSON cannot tell two halves that happen to stand together from a pair.
    expected = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert found == expected
