"""`/assistants/try` and traces, in a whole Heddle with people of two organisations."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest
import pytest_asyncio
from gateway.essays import EXAMPLE
from heddle.account.v1 import account_pb2, account_pb2_grpc
from heddle_runtime.identity.callers import Identity
from heddle_runtime.rpc.client import channel
from pydantic import SecretStr
from threats.tenants import COLLEAGUE, OPERATOR, OWNER, SECRET, Tenants, called_by, tenants

TITLE = "magpie-feather-title"
BYPASS = {"connector": "bypass", "model": "full-conversation-bypass"}
QUESTION = [{"role": "user", "content": "What is a shed?"}]
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def heddle(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Tenants]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        async with tenants(tmp_path_factory.mktemp("trials"), monkeypatch) as running:
            yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rubric(heddle: Tenants) -> str:
    """A rubric that only its owner may read."""
    content = EXAMPLE | {"title": TITLE}
    return await heddle.create(OWNER, "/rubrics", json={"public": False, "content": content})


def unsaved(**members: Any) -> dict[str, Any]:
    return {"model": BYPASS, "prompt_template": "{user_input}", **members}


def judging(rubric: str, **members: Any) -> dict[str, Any]:
    tool = {"type": "rubric", "config": {"rubric_id": rubric}}
    return unsaved(tools=[tool], prompt_template="{user_input} {rubric}", **members)


async def attempt(
    heddle: Tenants, person: Identity, assistant: Any, headers: Any = None, **more: Any
) -> httpx.Response:
    authorization = {"authorization": f"Bearer {heddle.keys[person]}"}
    body = {"assistant": assistant, "messages": QUESTION, **more}
    return await heddle.client.post(
        "/assistants/try", json=body, headers={**authorization, **(headers or {})}
    )


def chunks(response: httpx.Response) -> list[dict[str, Any]]:
    lines = response.text.split("\n\n")
    data = [each.removeprefix("data: ") for each in lines if each.startswith("data: ")]
    assert data.pop() == "[DONE]"
    return [json.loads(each) for each in data]


def trace_of(response: httpx.Response, *, stream: bool) -> dict[str, Any]:
    assert response.status_code == 200, response.text
    if stream:
        events = [each["heddle"] for each in chunks(response) if "heddle" in each]
    else:
        events = response.json()["heddle"]
    [trace] = [each["data"] for each in events if each["type"] == "trace"]
    return dict(trace)


async def test_an_unsaved_assistant_answers_whole_and_streamed(
    heddle: Tenants, rubric: str
) -> None:
    before = await heddle.request(OWNER, "GET", "/assistants?selection=own")
    whole = await attempt(heddle, OWNER, judging(rubric))
    assert TITLE in whole.json()["choices"][0]["message"]["content"]
    assert "heddle" in whole.json()
    streamed = chunks(await attempt(heddle, OWNER, judging(rubric), stream=True))
    assert TITLE in "".join(each["choices"][0]["delta"].get("content", "") for each in streamed)
    assert any("event" in each for each in streamed)
    listed = await heddle.request(OWNER, "GET", "/assistants?selection=own")
    assert listed.json()["assistants"] == before.json()["assistants"]


async def test_an_invalid_assistant_is_refused_with_all_its_faults(heddle: Tenants) -> None:
    wrong = unsaved(
        tools=[{"type": "weather", "config": {"days": "many"}}, {"type": "barometer"}],
        strategy="all_at_once",
        title=7,
    )
    response = await attempt(heddle, OWNER, wrong)
    assert response.status_code == 400
    fields = {each["field"] for each in response.json()["error"]["violations"]}
    assert {"assistant.title", "assistant.strategy", "assistant.tools[1].type"} <= fields
    validated = await heddle.request(OWNER, "POST", "/assistants/validate", json=wrong)
    same = {f"assistant.{each['field']}" for each in validated.json()["violations"]}
    assert fields == same - {"assistant.name"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"assistant": None}, "assistant"),
        ({"assistant": "1"}, "assistant"),
        ({"messages": []}, "messages"),
        ({"charge_to": 7}, "charge_to"),
        ({"trace": "yes"}, "trace"),
    ],
)
async def test_a_wrong_body_is_refused_with_its_place(
    heddle: Tenants, body: dict[str, Any], field: str
) -> None:
    response = await attempt(heddle, OWNER, **({"assistant": unsaved()} | body))
    assert response.status_code == 400
    assert response.json()["error"]["param"].startswith(field)


async def test_tools_run_with_the_rights_of_the_caller(heddle: Tenants, rubric: str) -> None:
    tool = {"type": "rubric", "config": {"rubric_id": rubric}}
    shared = await heddle.assistant(
        OWNER, "shared", tool, published=True, prompt_template="{user_input} {rubric}"
    )
    claims = {"id": shared, "owner": OWNER.subject, "organization": OWNER.organization}
    for claimed in ({}, claims):
        for stream in (False, True):
            response = await attempt(
                heddle, COLLEAGUE, judging(rubric, **claimed), stream=stream, trace=True
            )
            assert response.status_code == 200
            assert TITLE not in response.text


@pytest.mark.parametrize("stream", [False, True])
async def test_a_trace_has_the_texts_of_the_trial(
    heddle: Tenants, rubric: str, *, stream: bool
) -> None:
    for ask in ({"trace": True}, {"headers": {"x-heddle-trace": "true"}}):
        trace = trace_of(
            await attempt(heddle, OWNER, judging(rubric), stream=stream, **ask), stream=stream
        )
        assert trace["has_texts"]
        tool, model = trace["steps"]
        assert (tool["kind"], tool["tool"], tool["slot"]) == ("tool", "rubric", "rubric")
        assert tool["input"] == {"rubric_id": rubric}
        assert TITLE in tool["output"]
        assert (model["kind"], model["model"]) == ("model", "bypass/full-conversation-bypass")
        assert 0 <= tool["start"] <= model["start"]
        question, slot = trace["slots"]
        assert (question["slot"], question["text"]) == ("user_input", "What is a shed?")
        assert (slot["slot"], slot["step"]) == ("rubric", 0)
        [place] = slot["ranges"]
        text = trace["prompt"][place["message"]]["parts"][place["part"]]
        assert text[place["start"] : place["end"]] == slot["text"]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_trace_of_a_stored_assistant_is_for_those_who_may_read_it(
    heddle: Tenants, rubric: str, *, stream: bool
) -> None:
    tool = {"type": "rubric", "config": {"rubric_id": rubric}}
    name = f"traced_{stream}".lower()
    number = await heddle.assistant(
        OWNER, name, tool, published=True, verbose=True, prompt_template="{user_input} {rubric}"
    )
    body = {"model": f"lamb_assistant.{number}", "messages": QUESTION, "stream": stream}

    async def answer_to(person: Identity, **more: Any) -> httpx.Response:
        return await heddle.request(person, "POST", "/v1/chat/completions", json=body | more)

    assert (
        TITLE in trace_of(await answer_to(OWNER, trace=True), stream=stream)["steps"][0]["output"]
    )
    refused = await answer_to(COLLEAGUE, trace=True)
    assert refused.status_code == 403
    for person, more in ((OWNER, {}), (OWNER, {"trace": False}), (COLLEAGUE, {})):
        assert '"trace"' not in (await answer_to(person, **more)).text


async def test_a_wrong_trace_header_is_refused(heddle: Tenants) -> None:
    response = await attempt(heddle, OWNER, unsaved(), {"x-heddle-trace": "1"})
    assert response.status_code == 400
    assert "x-heddle-trace" in response.json()["error"]["message"]


async def test_a_trial_is_charged_to_an_assistant_that_the_caller_may_change(
    heddle: Tenants,
) -> None:
    charged = await heddle.assistant(OWNER, "charged", published=True)
    for members in ({"charge_to": charged}, {"assistant": unsaved(id=charged)}):
        body = {"assistant": unsaved(), **members}
        assert (await attempt(heddle, OWNER, **body)).status_code == 200

    requests, attempts = 0, 0
    while requests < 2 and attempts < 200:
        usage = await heddle.request(OWNER, "GET", f"/assistants/{charged}/usage")
        requests = sum(each["requests"] for each in usage.json()["models"])
        attempts += 1
        await asyncio.sleep(0.05)
    assert requests == 2
    for person, number in ((COLLEAGUE, charged), (OWNER, "999999")):
        assert (await attempt(heddle, person, unsaved(), charge_to=number)).status_code == 404


async def test_a_used_up_quota_stops_trials(heddle: Tenants) -> None:
    extra = {"quota": {"enabled": True, "cost_limit_usd": 0}}
    body = unsaved(name="poor", extra=extra)
    poor = await heddle.create(OWNER, "/assistants", json=body)
    response = await attempt(heddle, OWNER, unsaved(), charge_to=poor)
    assert response.status_code == 429
    assert response.json()["error"]["code"] == "assistant_quota_exceeded"


async def test_only_who_may_create_assistants_may_try_them(heddle: Tenants) -> None:
    secret = SecretStr(SECRET)
    async with channel(heddle.assistants_address, secret=secret) as to_accounts:
        accounts: Any = account_pb2_grpc.AccountServiceStub(to_accounts)
        key = account_pb2.Key(name="front end", organization="uni")
        request = account_pb2.CreateKeyRequest(key=key)
        created = await accounts.CreateKey(request, **called_by(OPERATOR))
    organization = await heddle.client.post(
        "/assistants/try",
        json={"assistant": unsaved(), "messages": QUESTION},
        headers={"authorization": f"Bearer {created.secret}"},
    )
    assert organization.status_code == 403
