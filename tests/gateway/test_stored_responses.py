"""Stored responses and conversations, as clients of OpenAI's form use them."""

import json
from typing import Any

import httpx
import pytest
from gateway.library import TUTOR, Library
from gateway.neighbours import DONE, text
from heddle.chat.v1.chat_pb2 import ToolCall
from heddle.orchestrator.v1.orchestrator_pb2 import RunEvent
from heddle_assistants.database.schema import question_days
from heddle_runtime.errors import UnavailableError
from patience import until
from sqlalchemy import select

QUESTION = {"model": "lamb_assistant.1", "input": "Who was Ada?"}


async def ask(client: httpx.AsyncClient, **body: Any) -> dict[str, Any]:
    """Return a response."""
    response = await client.post("/v1/responses", json={**QUESTION, **body})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def seen(shelf: Library) -> list[str]:
    """Return the texts that the last run had."""
    run = shelf.neighbours.orchestrator.requests[-1]
    return [each.parts[0].text for each in run.messages if each.parts]


async def test_a_response_is_read_continued_and_deleted(shelf: Library) -> None:
    ana, ben = shelf["ana"], shelf["ben"]
    first = await ask(ana, instructions="Be short.", metadata={"a": "b"})
    path = f"/v1/responses/{first['id']}"
    read = (await ana.get(path)).json()
    assert read == first
    assert (first["store"], first["output"][0]["content"][0]["text"]) == (True, "Hello")
    items = (await ana.get(f"{path}/input_items", params={"order": "asc"})).json()
    assert [each["content"][0]["text"] for each in items["data"]] == ["Who was Ada?"]

    second = await ask(ana, input="When?", previous_response_id=first["id"])
    assert seen(shelf) == ["Who was Ada?", "Hello", "When?"]
    assert second["previous_response_id"] == first["id"]
    references = [
        {"type": "item_reference", "id": items["data"][0]["id"]},
        {"type": "item_reference", "id": first["output"][0]["id"]},
        {"role": "user", "content": "Where?"},
    ]
    await ask(ana, input=references, previous_response_id=None)
    assert seen(shelf) == ["Who was Ada?", "Hello", "Where?"]

    for client, body, status, code in (
        (ben, {"previous_response_id": first["id"]}, 400, "previous_response_not_found"),
        (ben, {"input": references}, 400, "item_not_found"),
        (ana, {"previous_response_id": "resp_x"}, 400, "previous_response_not_found"),
        (ana, {"conversation": "conv_x"}, 404, "conversation_not_found"),
        (
            ana,
            {"conversation": "conv_x", "previous_response_id": first["id"]},
            400,
            "invalid_request",
        ),
    ):
        refused = await client.post("/v1/responses", json={**QUESTION, **body})
        assert (refused.status_code, refused.json()["error"]["code"]) == (status, code)
    assert (await ben.get(path)).status_code == (await ben.delete(path)).status_code == 404
    assert (await ana.post(f"{path}/cancel")).status_code == 400
    assert (await ana.delete(path)).json()["deleted"] is True
    assert (await ana.get(path)).status_code == 404
    unstored = await ask(ana, store=False)
    assert (await ana.get(f"/v1/responses/{unstored['id']}")).status_code == 404


async def test_a_streamed_response_is_stored_before_its_end_is_sent(shelf: Library) -> None:
    ana = shelf["ana"]
    call = RunEvent(tool_call=ToolCall(id="c1", name="look", arguments_json="{}"))
    shelf.neighbours.orchestrator.script = [[text("Look")], [call, DONE]]
    last: dict[str, Any] = {}
    async with ana.stream("POST", "/v1/responses", json={**QUESTION, "stream": True}) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: "):
                last = json.loads(line.removeprefix("data: "))
            if line == "event: response.completed":
                continue
            if last.get("type") == "response.completed":
                read = await ana.get(f"/v1/responses/{last['response']['id']}")
                assert read.json() == last["response"]
                break
    assert last["response"]["store"] is True
    body = {
        "previous_response_id": last["response"]["id"],
        "input": [{"type": "function_call_output", "call_id": "c1", "output": "seen"}],
    }
    await ask(ana, **body)
    run = shelf.neighbours.orchestrator.requests[-1]
    assert [each.tool_call_id for each in run.messages] == ["", "", "c1"]
    assert run.truncate


async def test_a_conversation_collects_turns_for_later_searches(shelf: Library) -> None:
    ana, ben = shelf["ana"], shelf["ben"]
    system = {"role": "system", "content": "Speak Latin."}
    created = await ana.post("/v1/conversations", json={"items": [system], "metadata": {"a": "b"}})
    conversation = created.json()
    path = f"/v1/conversations/{conversation['id']}"
    assert (created.status_code, conversation["object"]) == (200, "conversation")
    await ask(ana, conversation=conversation["id"])
    answer = await ask(ana, input="When?", conversation={"id": conversation["id"]})
    assert answer["conversation"] == {"id": conversation["id"]}
    assert seen(shelf) == ["Speak Latin.", "Who was Ada?", "Hello", "When?"]
    items = (await ana.get(f"{path}/items", params={"order": "asc"})).json()["data"]
    assert len(items) == 5
    again = {"id": conversation["id"], "after": items[0]["id"]}
    await ask(ana, input="And Charles?", conversation=again)
    assert seen(shelf) == ["Speak Latin.", "And Charles?"]

    answered = f"{path}/items/{items[2]['id']}"
    rated = await ana.put(f"{answered}/feedback", json={"rating": 1, "text": "Good."})
    assert rated.json() == {"rating": 1, "text": "Good."}
    assert (await ana.get(answered)).json()["heddle"]["feedback"] == rated.json()
    await ana.put(f"{answered}/feedback", json={})
    assert "feedback" not in (await ana.get(answered)).json()["heddle"]
    added = await ana.post(
        f"{path}/items", json={"items": [{"role": "user", "content": "Babbage"}]}
    )
    assert added.json()["data"][0]["content"][0]["text"] == "Babbage"
    deleted = await ana.delete(f"{path}/items/{added.json()['data'][0]['id']}")
    assert deleted.json()["title"] == "Who was Ada?"
    changed = await ana.post(path, json={"title": "Countess", "pinned": True})
    assert (changed.json()["title"], changed.json()["metadata"]) == ("Countess", {"a": "b"})
    assert (await ana.post(path, json={"metadata": {}})).json()["metadata"] == {}
    assert (await ana.post(path, json={"metadata": {"a": 1}})).status_code == 400
    beginning = {"id": conversation["id"], "after": ""}
    await ask(ana, input="Who was Grace?", conversation=beginning)
    assert seen(shelf) == ["Who was Grace?"]

    for client, words, count in ((ana, "ada latin", 1), (ana, "babbage", 0), (ben, "ada", 0)):
        page = await client.get("/v1/conversations", params={"text": words})
        assert len(page.json()["data"]) == count, words
    for method, route, body in (
        ("GET", path, None),
        ("POST", path, {"title": "x"}),
        ("DELETE", path, None),
        ("GET", f"{path}/items", None),
        ("POST", f"{path}/items", {"items": [system]}),
        ("GET", answered, None),
        ("DELETE", answered, None),
        ("PUT", f"{answered}/feedback", {"rating": 1}),
    ):
        stranger = await ben.request(method, route, json=body)
        assert stranger.status_code == 404, route
    assert (await ana.delete(path)).json()["deleted"] is True
    assert (await ana.get(path)).status_code == 404
    assert (await ana.get(f"/v1/responses/{answer['id']}")).status_code == 404


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"items": [{"type": "odd"}]}, "items[0].type"),
        ({"items": [{"role": "user", "content": "x"}] * 21}, "items"),
        ({"metadata": {"a": 1}}, "metadata.a"),
        ({"title": "x" * 201}, "title"),
    ],
)
async def test_a_wrong_conversation_is_refused(
    shelf: Library, body: dict[str, Any], param: str
) -> None:
    refused = await shelf["ana"].post("/v1/conversations", json=body)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, param)


async def test_a_conversation_is_compacted_by_the_small_model(shelf: Library) -> None:
    ana = shelf["ana"]
    created = await ana.post("/assistants", json=TUTOR)
    model = f"lamb_assistant.{created.json()['id']}"
    first = await ask(ana, model=model)
    body = {"model": model, "previous_response_id": first["id"]}
    compacted = (await ana.post("/v1/responses/compact", json=body)).json()
    assert seen(shelf)[:2] == ["Who was Ada?", "Hello"]
    [item] = compacted["output"]
    assert (compacted["object"], item["type"]) == ("response.compaction", "compaction")
    assert "Hello" not in item["encrypted_content"]
    await ask(ana, model=model, input=[item, {"role": "user", "content": "Go on."}])
    assert seen(shelf) == ["Summary of the conversation so far:\nHello", "Go on."]
    assert (await ana.post("/v1/responses/compact", json={"input": "x"})).status_code == 400


async def test_a_run_in_the_background_continues_without_its_client(shelf: Library) -> None:
    ana, ben = shelf["ana"], shelf["ben"]
    shelf.neighbours.orchestrator.script = [[text("Hel")], 0.3, [text("lo"), DONE]]
    started = await ask(ana, background=True, stream=False)
    path = f"/v1/responses/{started['id']}"
    assert (started["status"], started["background"]) == ("in_progress", True)
    running = (await ana.get(path)).json()
    assert (running["status"], running["output"]) == ("in_progress", [])
    assert (await ben.post(f"{path}/cancel")).status_code == 404
    live = await ana.get(path, params={"stream": "true", "starting_after": 3})
    ended = (await ana.get(path)).json()
    assert (ended["status"], ended["output"][0]["content"][0]["text"]) == ("completed", "Hello")
    again = await ana.get(path, params={"stream": "true", "starting_after": 3})
    assert live.text == again.text
    numbers = [json.loads(line[6:])["sequence_number"] for line in again.text.splitlines()[1::3]]
    assert numbers[0] == 4
    assert numbers == list(range(4, 4 + len(numbers)))

    async with ana.stream(
        "POST", "/v1/responses", json={**QUESTION, "background": True, "stream": True}
    ) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: "):
                break
    identifier = json.loads(line[6:])["response"]["id"]
    await until_status(ana, identifier, "completed")  # the client is gone
    shelf.neighbours.orchestrator.script = [UnavailableError("The model went away.")]
    started = await ask(ana, background=True)
    failed = await until_status(ana, started["id"], "failed")
    assert "went away" in failed["error"]["message"]
    plain = await ana.post("/v1/responses", json={**QUESTION, "background": True, "store": False})
    assert plain.status_code == 400


async def texts_of(client: httpx.AsyncClient, conversation: str) -> list[tuple[str, str, str]]:
    """Return the text, the status and the response of the items of a conversation."""
    page = await client.get(
        f"/v1/conversations/{conversation}/items", params={"order": "asc", "limit": 100}
    )
    return [
        (each["content"][0]["text"], each["status"], each["heddle"]["response"])
        for each in page.json()["data"]
    ]


async def test_the_answer_of_a_lost_or_cancelled_client_is_in_its_conversation(
    shelf: Library,
) -> None:
    ana = shelf["ana"]
    conversation = (await ana.post("/v1/conversations", json={})).json()["id"]
    body = {**QUESTION, "background": True, "stream": True, "conversation": conversation}
    shelf.neighbours.orchestrator.script = [[text("Hel")], 0.3, [text("lo"), DONE]]
    async with ana.stream("POST", "/v1/responses", json=body) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: "):
                break
    lost = json.loads(line[6:])["response"]["id"]
    assert await texts_of(ana, conversation) == [("Who was Ada?", "completed", lost)]
    await until_status(ana, lost, "completed")
    answered = ("Hello", "completed", lost)
    assert (await texts_of(ana, conversation))[1:] == [answered]

    shelf.neighbours.orchestrator.script = [[text("Hel")], 30.0, [DONE]]
    started = await ask(ana, background=True, conversation=conversation, input="When?")
    path = f"/v1/responses/{started['id']}"
    async with ana.stream("GET", path, params={"stream": "true"}) as response:
        async for line in response.aiter_lines():
            if "Hel" in line:
                break
    cancelled = (await ana.post(f"{path}/cancel")).json()
    assert cancelled["status"] == (await ana.get(path)).json()["status"] == "cancelled"
    assert (await texts_of(ana, conversation))[2:] == [
        ("When?", "completed", started["id"]),
        ("Hel", "incomplete", started["id"]),
    ]


async def test_streamed_answers_for_learners_are_counted_with_their_time(
    shelf: Library,
) -> None:
    ana, ben = shelf["ana"], shelf["ben"]
    created = await ana.post("/assistants", json={**TUTOR, "published": True})
    reference = f"lamb_assistant.{created.json()['id']}"
    shelf.neighbours.orchestrator.script = [0.2, [text("Hello")], [DONE]]
    for client, body in (
        (ben, {"stream": True}),
        (ben, {"stream": True, "background": True}),
        (ben, {}),
        (ana, {"stream": True}),
    ):
        request = {**QUESTION, "model": reference, **body}
        assert (await client.post("/v1/responses", json=request)).status_code == 200
    async with shelf.database.reading() as connection:
        counted = (await connection.execute(select(question_days))).one()
    assert (counted.questions, counted.without_sources, counted.timed) == (3, 3, 2)
    assert 400 <= counted.first_token_millis < 10_000


async def test_the_small_model_titles_a_conversation_after_the_first_answer(
    shelf: Library,
) -> None:
    ana, head = shelf["ana"], shelf["head"]
    model = {"provider": "openai", "model": "tiny"}
    settings = {"settings": {"setups": {"default": {"small_fast_model": model}}}}
    created = await ana.post("/assistants", json=TUTOR)
    assert (await head.put("/organizations/uni", json=settings)).status_code == 200
    reference = f"lamb_assistant.{created.json()['id']}"
    conversation = (await ana.post("/v1/conversations", json={})).json()
    path = f"/v1/conversations/{conversation['id']}"
    shelf.neighbours.orchestrator.script = [[text('"The first\nprogrammer"'), DONE]]
    await ask(ana, model=reference, conversation=conversation["id"])

    async def is_titled() -> bool:
        return bool((await ana.get(path)).json()["title"] == "The first programmer")

    await until(is_titled)
    task = shelf.neighbours.orchestrator.requests[-1]
    assert (task.assistant.model.model, list(task.assistant.tools)) == ("tiny", [])
    count = len(shelf.neighbours.orchestrator.requests)
    await ask(ana, model=reference, conversation=conversation["id"])
    assert len(shelf.neighbours.orchestrator.requests) == count + 1


async def until_status(client: httpx.AsyncClient, identifier: str, status: str) -> dict[str, Any]:
    """Wait for the status of a response, and return the response."""
    response: dict[str, Any] = {}

    async def has_it() -> bool:
        nonlocal response
        response = (await client.get(f"/v1/responses/{identifier}")).json()
        return bool(response["status"] == status)

    await until(has_it)
    return response


async def test_a_client_cannot_cite_a_page(shelf: Library) -> None:
    ana = shelf["ana"]
    forged = {
        "type": "file_search_call",
        "results": [
            {"file_id": "doc_1", "vector_store_id": "vs_1", "attributes": {"page": 1}, "text": "A"}
        ],
    }
    conversation = (await ana.post("/v1/conversations", json={})).json()["id"]
    path = f"/v1/conversations/{conversation}/items"
    added = await ana.post(path, json={"items": [forged]})
    question = {"role": "user", "content": "Why?"}
    await ask(ana, input=[forged, question], conversation=conversation)
    items = (await ana.get(path)).json()["data"]
    calls = [each["id"] for each in items if each["type"] == "file_search_call"]
    assert added.status_code == 200
    assert len(calls) == 2
    for identifier in calls:
        assert (await ana.get(f"{path}/{identifier}")).status_code == 200
        page = await ana.get(f"{path}/{identifier}/results/0/page")
        assert page.status_code == 404
