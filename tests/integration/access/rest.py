"""What each route that takes an identifier answers, to whom. New routes belong here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
from gateway.essays import EXAMPLE
from integration.access.deployments import OWNER
from integration.access.outcomes import (
    ALL,
    ANYBODY,
    ATTACH,
    AUDIT,
    CHANGE,
    CHANGE_ENDED,
    CHANGE_SHARED,
    CREATORS,
    DESCRIBE,
    LIST,
    LIST_OWN,
    LIST_SHARED,
    LIST_UPLOADED,
    MANAGED,
    NOT_FOUND,
    OWN,
    PROMPT,
    READ,
    REFUSED,
    RUN,
    UPLOADED,
    WITHOUT_RIGHT,
    Outcomes,
    elsewhere,
    shared,
)
from integration.access.things import Things, batch_of, unique

Request = Callable[[Any], dict[str, Any]]
QUESTION = [{"role": "user", "content": "What holds a thread?"}]


RUN_TOOL = OWN | {
    "owner": "200 with the content",
    "other user": "failed",
    **shared("200 with the content"),
    **elsewhere("failed"),
    **WITHOUT_RIGHT,
}
"""The tool fails, as for what does not exist."""


@dataclass(frozen=True)
class Route:
    """How to call a route with the identifiers of things, and what it answers to whom.

    Attributes:
        outcomes: Of each role.
        request: Returns `path`, the values of the path's parameters, and what httpx sends.
    """

    outcomes: Outcomes
    request: Request


def send(client: httpx.Client, name: str, route: Route, things: Any) -> httpx.Response:
    """Call the route `METHOD PATH`, perhaps with words after it that say how."""
    method, path, *_ = name.split(" ")
    options = route.request(things)
    url = path.format_map(options.pop("path", {}))
    return client.request(method, url, **options)


def _chat(things: Things) -> dict[str, Any]:
    return {"model": f"lamb_assistant.{things.assistant}", "messages": QUESTION}


def _prompt(**options: Any) -> Request:
    def request(things: Things) -> dict[str, Any]:
        body = {"model": f"lamb_assistant.{things.assistant}", "prompt": "What holds a thread?"}
        return {"json": {**body, **options}}

    return request


def _stream(things: Things) -> dict[str, Any]:
    return {**_chat(things), "stream": True}


def _response(**members: Any) -> Request:
    return lambda it: {
        "json": {"model": f"lamb_assistant.{it.assistant}", "input": "Hello.", **members}
    }


def _message(**members: Any) -> Request:
    return lambda it: {"json": {**_chat(it), **members}}


def _title(things: Things) -> dict[str, Any]:
    return {**_chat(things), "metadata": {"task": "title_generation"}}


def _paint(things: Things) -> dict[str, Any]:
    return {"json": {"model": f"lamb_assistant.{things.painter}", "prompt": "A loom."}}


def _painted_stream(things: Things) -> dict[str, Any]:
    return {"json": {**_paint(things)["json"], "stream": True}}


def _assistant(**body: Any) -> Request:
    def request(things: Things) -> dict[str, Any]:
        return {"path": {"id": things.assistant}, **({"json": body} if body else {})}

    return request


def _user(**body: Any) -> Request:
    path = {"slug": "uni", "email": OWNER.subject}
    return lambda _: {"path": path, **({"json": body} if body else {})}


def _version(things: Things) -> dict[str, Any]:
    return {"path": {"id": things.assistant, "number": 1}}


def _replaced(things: Things) -> dict[str, Any]:
    model = {"connector": "bypass", "model": "simple-bypass"}
    return _assistant(name=unique(), model=model)(things)


def _tried(**members: Any) -> Request:
    return lambda it: {"path": {"id": it.assistant}, "json": {"messages": QUESTION, **members}}


def _trial(**members: Any) -> dict[str, Any]:
    model = {"connector": "bypass", "model": "simple-bypass"}
    return {"assistant": {"model": model}, "messages": QUESTION, **members}


def _rubric(things: Things) -> dict[str, Any]:
    return {"path": {"id": things.rubric}}


def _of(**names: str) -> Request:
    """Return the request for a path whose parameters are the identifiers of things."""
    return lambda it: {"path": {name: getattr(it, thing) for name, thing in names.items()}}


def _with(request: Request, **members: Any) -> Request:
    return lambda it: {**request(it), "json": members}


_CONVERSATION = _of(id="conversation")
_ITEM = _of(conversation="conversation", id="item")
_NEW_ITEMS = [{"role": "user", "content": "A shed."}]


def _saved_prompt(things: Things) -> dict[str, Any]:
    return {"path": {"id": things.saved_prompt}}


def _store(**body: Any) -> Request:
    return lambda it: {"path": {"id": it.store}, **({"json": body} if body else {})}


def _attached(**body: Any) -> Request:
    def request(it: Things) -> dict[str, Any]:
        return {
            "path": {"file": it.attached, "id": it.store},
            **({"json": body} if body else {}),
        }

    return request


def _batch(it: Things) -> dict[str, Any]:
    return {"path": {"batch": it.batch, "id": it.store}}


def _searched(it: Things) -> dict[str, Any]:
    return {"path": {"id": _full(it)}, "json": {"query": "What holds a thread?"}}


def _full(it: Things) -> str:
    """Return the store, with the file in it."""
    _ = it.attached
    return it.store


def _listed(kind: str, thing: str) -> Request:
    """Return a message of the Model Context Protocol that lists what has a thing."""

    def request(things: Things) -> dict[str, Any]:
        params = {"cursor": getattr(things, thing)[:0]}
        body = {"jsonrpc": "2.0", "id": 1, "method": f"{kind}/list", "params": params}
        return {"headers": {"accept": "application/json, text/event-stream"}, "json": body}

    return request


_PROMPT = {"title": "Tutor", "system_prompt": "Be kind.", "public": True}
_EMBEDDED = {"model": "default", "input": "a"}
ROUTES: dict[str, Route] = {
    # Completions
    "POST /v1/chat/completions": Route(RUN, lambda it: {"json": _chat(it)}),
    "POST /v1/chat/completions streamed": Route(RUN, lambda it: {"json": _stream(it)}),
    "POST /v1/chat/completions for a title": Route(RUN, lambda it: {"json": _title(it)}),
    "POST /chat/completions": Route(RUN, lambda it: {"json": _chat(it)}),
    "POST /v1/chat/completions with choices": Route(
        RUN, lambda it: {"json": {**_chat(it), "n": 2}}
    ),
    "POST /v1/completions": Route(RUN, _prompt()),
    "POST /v1/completions streamed": Route(RUN, _prompt(stream=True, n=2)),
    "POST /v1/responses": Route(RUN, _response()),
    "POST /v1/responses streamed": Route(RUN, _response(stream=True)),
    "POST /responses": Route(RUN, _response()),
    "POST /v1/messages": Route(RUN, _message(max_tokens=100)),
    "POST /v1/messages streamed": Route(RUN, _message(max_tokens=100, stream=True)),
    "POST /v1/messages/count_tokens": Route(ALL, _message()),
    "POST /lamb/v1/completions": Route(
        RUN, lambda it: {"params": {"assistant": it.assistant}, "json": {"messages": QUESTION}}
    ),
    "POST /creator/assistant/{id}/chat/completions": Route(RUN, _tried()),
    "POST /v1/chat/completions with its trace": Route(
        PROMPT | shared("403"),
        lambda it: {"json": {**_chat(it), "trace": True}},
    ),
    "POST /creator/assistant/{id}/chat/completions streamed": Route(RUN, _tried(stream=True)),
    "POST /creator/assistant/{id}/chat/completions for the prompt": Route(
        PROMPT | shared("403"), _tried(debug_bypass=True)
    ),
    "POST /v1/images/generations": Route(RUN, _paint),
    "POST /v1/images/generations streamed": Route(
        RUN, lambda it: {"json": {**_paint(it)["json"], "stream": True}}
    ),
    "POST /images/generations": Route(RUN, _paint),
    "GET /v1/pictures/{name}": Route(UPLOADED, lambda it: {"path": {"name": it.picture}}),
    "GET /v1/models": Route(LIST, lambda it: {"params": {"seen": it.assistant}}),
    "GET /models": Route(LIST, lambda it: {"params": {"seen": it.assistant}}),
    "GET /v1/models/{id}": Route(
        DESCRIBE, lambda it: {"path": {"id": f"lamb_assistant.{it.assistant}"}}
    ),
    "GET /models/{id}": Route(
        DESCRIBE, lambda it: {"path": {"id": f"lamb_assistant.{it.assistant}"}}
    ),
    # Assistants
    "GET /assistants": Route(LIST, lambda it: {"params": {"text": it.assistant[:0]}}),
    "GET /assistants managed": Route(
        LIST_OWN,
        lambda it: {"params": {"selection": "managed", "text": it.assistant[:0]}},
    ),
    "GET /assistants shared": Route(
        LIST_SHARED,
        lambda it: {"params": {"selection": "shared", "text": it.assistant[:0]}},
    ),
    "GET /assistants/{id}": Route(DESCRIBE, _assistant()),
    "POST /assistants/validate": Route(
        CREATORS,
        lambda it: {
            "json": {
                "id": it.assistant,
                "name": unique(),
                "model": {"connector": "bypass", "model": "simple-bypass"},
            }
        },
    ),
    "POST /assistants/try": Route(CREATORS, lambda _: {"json": _trial()}),
    "POST /assistants/try streamed": Route(CREATORS, lambda _: {"json": _trial(stream=True)}),
    "POST /assistants/try charged": Route(
        MANAGED | WITHOUT_RIGHT, lambda it: {"json": _trial(charge_to=it.assistant, trace=True)}
    ),
    "POST /assistants": Route(
        CREATORS, lambda _: {"json": {"name": unique(), "model": _trial()["assistant"]["model"]}}
    ),
    "POST /assistants/import": Route(
        CREATORS, lambda _: {"json": {"name": unique(), "model": _trial()["assistant"]["model"]}}
    ),
    "POST /assistants/import of LAMB's": Route(
        CREATORS, lambda _: {"json": {"name": unique(), "metadata": "{}"}}
    ),
    "POST /creator/assistant/create_assistant": Route(
        CREATORS, lambda _: {"json": {"name": unique()}}
    ),
    "POST /v1/embeddings": Route(CREATORS, lambda _: {"json": _EMBEDDED}),
    "POST /embeddings": Route(CREATORS, lambda _: {"json": _EMBEDDED}),
    "POST /rubrics": Route(CREATORS, lambda _: {"json": {"content": EXAMPLE}}),
    "POST /v1/files": Route(
        CREATORS,
        lambda _: {"files": {"file": ("a.txt", "A shed.")}, "data": {"purpose": "assistants"}},
    ),
    "POST /v1/vector_stores": Route(CREATORS, lambda _: {"json": {"name": unique()}}),
    "POST /collections": Route(CREATORS, lambda _: {"json": {"name": unique()}}),
    "PUT /assistants/{id}": Route(CHANGE, _replaced),
    "DELETE /assistants/{id}": Route(CHANGE, _assistant()),
    "PUT /assistants/{id}/publish": Route(CHANGE, _assistant(published=False)),
    "GET /assistants/{id}/export": Route(PROMPT, _assistant()),
    "POST /assistants/{id}/copy": Route(MANAGED | WITHOUT_RIGHT, _assistant(title="Mine")),
    "GET /assistants/{id}/usage": Route(MANAGED, _assistant()),
    "POST /assistants/{id}/usage/reset": Route(NOT_FOUND, _assistant()),
    "GET /usage": Route(ALL, lambda it: {"params": {"by": "assistant", "assistant": it.assistant}}),
    "GET /assistants/{id}/questions": Route(MANAGED, _assistant()),
    "PUT /assistants/{id}/questions": Route(CHANGE, _assistant(questions=[])),
    "DELETE /assistants/{id}/questions": Route(CHANGE, _assistant()),
    "GET /assistants/{id}/sharing": Route(MANAGED, _assistant()),
    "PUT /assistants/{id}/sharing": Route(CHANGE, _assistant(visibility="private")),
    "POST /assistants/{id}/owner": Route(CHANGE, _assistant(owner=OWNER.subject)),
    "POST /assistants/{id}/undelete": Route(CHANGE, _assistant()),
    "GET /assistants/{id}/versions": Route(MANAGED, _assistant()),
    "GET /assistants/{id}/versions/{number}": Route(PROMPT, _version),
    "GET /assistants/{id}/versions/{number}/diff": Route(MANAGED, _version),
    "POST /assistants/{id}/versions/{number}/restore": Route(CHANGE, _version),
    "GET /creator/assistant/get_assistants": Route(
        LIST_OWN, lambda it: {"params": {"limit": 100, "seen": it.assistant}}
    ),
    "GET /creator/assistant/get_assistant/{id}": Route(DESCRIBE, _assistant()),
    "PUT /creator/assistant/update_assistant/{id}": Route(CHANGE, _assistant(description="stolen")),
    "DELETE /creator/assistant/delete_assistant/{id}": Route(CHANGE, _assistant()),
    "GET /creator/assistant/export/{id}": Route(PROMPT, _assistant()),
    "PUT /creator/assistant/publish/{id}": Route(CHANGE, _assistant(publish_status=False)),
    # Rubrics
    "GET /rubrics": Route(LIST, lambda it: {"params": {"seen": it.rubric}}),
    "GET /rubrics/{id}": Route(READ, _rubric),
    "PUT /rubrics/{id}": Route(
        CHANGE, lambda it: {**_rubric(it), "json": {"public": True, "content": EXAMPLE}}
    ),
    "DELETE /rubrics/{id}": Route(CHANGE, _rubric),
    # Saved prompts
    "POST /prompts": Route(CREATORS, lambda _: {"json": _PROMPT}),
    "GET /prompts": Route(LIST | WITHOUT_RIGHT, lambda it: {"params": {"seen": it.saved_prompt}}),
    "GET /prompts/{id}": Route(READ | WITHOUT_RIGHT, _saved_prompt),
    "PUT /prompts/{id}": Route(CHANGE, lambda it: {**_saved_prompt(it), "json": _PROMPT}),
    "DELETE /prompts/{id}": Route(CHANGE, _saved_prompt),
    # Groups
    "POST /groups": Route(
        CREATORS, lambda _: {"json": {"title": "Biology", "teachers": [OWNER.subject]}}
    ),
    "GET /groups": Route(LIST_OWN | {"admin": "200"}, lambda it: {"params": {"seen": it.group}}),
    "GET /groups/{id}": Route(MANAGED, _of(id="group")),
    "PUT /groups/{id}": Route(
        MANAGED | WITHOUT_RIGHT,
        _with(_of(id="group"), title="Stolen", teachers=[OWNER.subject]),
    ),
    "DELETE /groups/{id}": Route(MANAGED | WITHOUT_RIGHT, _of(id="group")),
    "GET /groups/{id}/members": Route(MANAGED | WITHOUT_RIGHT, _of(id="group")),
    "POST /groups/{id}/members": Route(
        MANAGED | WITHOUT_RIGHT, _with(_of(id="group"), emails=["new@uni.example"])
    ),
    "DELETE /groups/{group}/members/{email}": Route(
        MANAGED, lambda it: {"path": {"group": it.group, "email": "new@uni.example"}}
    ),
    "POST /groups/{id}/code": Route(MANAGED | WITHOUT_RIGHT, _with(_of(id="group"), uses=1)),
    "DELETE /groups/{id}/code": Route(MANAGED | WITHOUT_RIGHT, _of(id="group")),
    "POST /groups/join": Route(
        UPLOADED | {"owner": "404", "operator": "403"}, lambda it: {"json": {"code": it.group[:9]}}
    ),
    "GET /groups/{group}/insights": Route(MANAGED | WITHOUT_RIGHT, _of(group="group")),
    "GET /assistants/{assistant}/insights": Route(
        MANAGED | WITHOUT_RIGHT, _of(assistant="assistant")
    ),
    "GET /groups/{group}/insights/questions": Route(MANAGED | WITHOUT_RIGHT, _of(group="group")),
    "GET /assistants/{assistant}/insights/questions": Route(
        MANAGED | WITHOUT_RIGHT, _of(assistant="assistant")
    ),
    # Audit log
    "GET /audit": Route(
        AUDIT, lambda it: {"params": {"object_type": "assistant", "object_id": it.assistant}}
    ),
    # Files
    "GET /v1/files": Route(LIST_UPLOADED, lambda it: {"params": {"seen": it.file}}),
    "GET /v1/files/{id}": Route(UPLOADED, lambda it: {"path": {"id": it.file}}),
    "DELETE /v1/files/{id}": Route(UPLOADED, lambda it: {"path": {"id": it.file}}),
    "GET /v1/files/{id}/content": Route(UPLOADED, lambda it: {"path": {"id": it.file}}),
    # Responses and conversations
    "POST /v1/responses/compact": Route(
        RUN, lambda it: {"json": {"model": f"lamb_assistant.{it.assistant}", "input": "A loom."}}
    ),
    "GET /v1/responses/{id}": Route(UPLOADED, _of(id="response")),
    "DELETE /v1/responses/{id}": Route(UPLOADED, _of(id="response")),
    "GET /v1/responses/{id}/input_items": Route(UPLOADED, _of(id="response")),
    "POST /v1/responses/{id}/cancel": Route(UPLOADED | {"owner": "400"}, _of(id="response")),
    "GET /v1/conversations": Route(
        LIST_UPLOADED, lambda it: {"params": {"seen": it.conversation, "text": it.content}}
    ),
    "POST /v1/conversations": Route(ALL, lambda _: {"json": {"items": _NEW_ITEMS}}),
    "GET /v1/conversations/{id}": Route(UPLOADED, _CONVERSATION),
    "POST /v1/conversations/{id}": Route(UPLOADED, _with(_CONVERSATION, title="Sheds")),
    "DELETE /v1/conversations/{id}": Route(UPLOADED, _CONVERSATION),
    "GET /v1/conversations/{id}/items": Route(UPLOADED, _CONVERSATION),
    "POST /v1/conversations/{id}/items": Route(UPLOADED, _with(_CONVERSATION, items=_NEW_ITEMS)),
    "GET /v1/conversations/{conversation}/items/{id}": Route(UPLOADED, _ITEM),
    "DELETE /v1/conversations/{conversation}/items/{id}": Route(UPLOADED, _ITEM),
    # The item cites nothing: `test_stored_responses.py` and `test_chat.py` have more.
    "GET /v1/conversations/{conversation}/items/{id}/results/{index}/page": Route(
        UPLOADED | {"owner": "404"},
        lambda it: {"path": {"conversation": it.conversation, "id": it.item, "index": 0}},
    ),
    "PUT /v1/conversations/{conversation}/items/{id}/feedback": Route(
        UPLOADED, _with(_ITEM, rating=1)
    ),
    # Batches
    "POST /v1/batches": Route(UPLOADED, lambda it: {"json": batch_of(it.requests)}),
    "GET /v1/batches": Route(LIST_UPLOADED, lambda it: {"params": {"seen": it.request_batch}}),
    "GET /v1/batches/{id}": Route(UPLOADED, _of(id="request_batch")),
    "POST /v1/batches/{id}/cancel": Route(UPLOADED, _of(id="request_batch")),
    # Vector stores
    "POST /v1/vector_stores with a file": Route(
        UPLOADED, lambda it: {"json": {"name": "mine", "file_ids": [it.file]}}
    ),
    "GET /v1/vector_stores": Route(LIST, lambda it: {"params": {"seen": it.store}}),
    "GET /v1/vector_stores/{id}": Route(READ, _store()),
    "POST /v1/vector_stores/{id}": Route(CHANGE_SHARED, _store(name="stolen")),
    "DELETE /v1/vector_stores/{id}": Route(CHANGE_SHARED, _store()),
    "POST /v1/vector_stores/{id}/search": Route(READ, _searched),
    "GET /v1/vector_stores/{id}/files": Route(READ, lambda it: {"path": {"id": _full(it)}}),
    "POST /v1/vector_stores/{id}/files": Route(
        ATTACH, lambda it: {**_store()(it), "json": {"file_id": it.file}}
    ),
    "GET /v1/vector_stores/{id}/files/{file}": Route(READ, _attached()),
    "POST /v1/vector_stores/{id}/files/{file}": Route(
        CHANGE_SHARED, _attached(attributes={"stolen": "yes"})
    ),
    "DELETE /v1/vector_stores/{id}/files/{file}": Route(CHANGE_SHARED, _attached()),
    "GET /v1/vector_stores/{id}/files/{file}/content": Route(READ, _attached()),
    "GET /v1/vector_stores/{id}/statistics": Route(READ, _store()),
    "GET /v1/vector_stores/{id}/files/{file}/passages": Route(READ, _attached()),
    "GET /v1/vector_stores/{id}/files/{file}/pages": Route(
        READ, lambda it: {"path": {"file": it.document, "id": it.paged}}
    ),
    "POST /v1/vector_stores/{id}/file_batches": Route(
        ATTACH, lambda it: {**_store()(it), "json": {"file_ids": [it.file]}}
    ),
    "GET /v1/vector_stores/{id}/file_batches/{batch}": Route(READ, _batch),
    "POST /v1/vector_stores/{id}/file_batches/{batch}/cancel": Route(CHANGE_SHARED, _batch),
    "GET /v1/vector_stores/{id}/file_batches/{batch}/files": Route(READ, _batch),
    "GET /v1/vector_stores/{id}/files/{file}/pages/{page}": Route(
        READ, lambda it: {"path": {"file": it.document, "id": it.paged, "page": 1}}
    ),
    # LAMB's knowledge bases
    "GET /collections": Route(LIST, lambda it: {"params": {"limit": 1000, "seen": it.store}}),
    "GET /api/collections": Route(LIST, lambda it: {"params": {"limit": 1000, "seen": it.store}}),
    "GET /collections/{id}": Route(READ, _store()),
    "PATCH /collections/{id}": Route(CHANGE_SHARED, _store(name="stolen")),
    "DELETE /collections/{id}": Route(CHANGE_SHARED, _store()),
    "POST /collections/{id}/query": Route(
        READ,
        lambda it: {"path": {"id": _full(it)}, "json": {"query_text": "What holds a thread?"}},
    ),
    "POST /collections/{id}/ingest-file": Route(
        CHANGE_SHARED, lambda it: {**_store()(it), "files": {"file": ("a.txt", "A shed.")}}
    ),
    "POST /collections/{id}/ingest-url": Route(CHANGE_SHARED, _store(urls=["http://web.invalid/"])),
    "POST /collections/{id}/ingest-base": Route(
        CHANGE_SHARED, _store(plugin_name="base_ingest", plugin_params={"text": "A shed."})
    ),
    "POST /collections/{id}/documents": Route(
        CHANGE_SHARED, _store(documents=[{"text": "A shed."}])
    ),
    "GET /collections/{id}/files": Route(READ, lambda it: {"path": {"id": _full(it)}}),
    "GET /collections/{id}/ingestion-jobs": Route(READ, _store()),
    "GET /collections/{id}/ingestion-status": Route(READ, _store()),
    "GET /collections/{id}/ingestion-jobs/{file}": Route(READ, _attached()),
    "POST /collections/{id}/ingestion-jobs/{file}/retry": Route(CHANGE_ENDED, _attached()),
    "POST /collections/{id}/ingestion-jobs/{file}/cancel": Route(CHANGE_ENDED, _attached()),
    "GET /collections/{id}/files/{file}/content": Route(READ, _attached()),
    "DELETE /collections/{id}/files/{file}": Route(CHANGE_SHARED, _attached()),
    "PUT /collections/files/{file}/status": Route(
        CHANGE_SHARED,
        lambda it: {"path": {"file": it.attached}, "params": {"status": "deleted"}},
    ),
    # The response names only collections that the caller may read, and nothing changes.
    "PUT /collections/owner/{owner}/embeddings": Route(
        ALL,
        lambda _: {"path": {"owner": "7"}, "json": {"embeddings_model": {"apikey": "sk-1234"}}},
    ),
    # The name of a tool is no secret.
    "GET /tools/{name}": Route(ALL, lambda _: {"path": {"name": "word_count"}}),
    "POST /tools/{name}/validate": Route(
        ALL, lambda _: {"path": {"name": "word_count"}, "json": {}}
    ),
    "POST /tools/{name}/run": Route(
        RUN_TOOL,
        lambda it: {"path": {"name": "rubric"}, "json": {"config": {"rubric_id": it.rubric}}},
    ),
    "GET /lamb/v1/completions/tools/{name}": Route(
        ANYBODY, lambda _: {"path": {"name": "word_count"}}
    ),
    "POST /lamb/v1/completions/tools/{name}/validate": Route(
        ALL, lambda _: {"path": {"name": "word_count"}, "json": {}}
    ),
    "POST /organizations/{slug}/users/{email}/password": Route(
        NOT_FOUND,
        lambda _: {"path": {"slug": "uni", "email": OWNER.subject}, "json": {}},
    ),
    "GET /organizations": Route(ALL, lambda _: {}),
    "POST /organizations": Route(ALL, lambda _: {"json": {"external_id": "uni", "name": "stolen"}}),
    "GET /organizations/{slug}": Route(NOT_FOUND, lambda _: {"path": {"slug": "uni"}}),
    "PUT /organizations/{slug}": Route(
        NOT_FOUND, lambda _: {"path": {"slug": "uni"}, "json": {"name": "stolen"}}
    ),
    "GET /organizations/{slug}/users": Route(NOT_FOUND, lambda _: {"path": {"slug": "uni"}}),
    "GET /organizations/{slug}/users/{email}": Route(NOT_FOUND, _user()),
    "PUT /organizations/{slug}/users/{email}": Route(NOT_FOUND, _user(role="admin")),
    "DELETE /organizations/{slug}/users/{email}": Route(NOT_FOUND, _user()),
    "GET /organizations/{slug}/people/{email}": Route(NOT_FOUND, _user()),
    "GET /organizations/{slug}/people/{email}/export": Route(NOT_FOUND, _user()),
    "POST /organizations/{slug}/people/{email}/erasure": Route(
        NOT_FOUND, _user(shared_things="delete")
    ),
    "GET /organizations/{slug}/prices": Route(NOT_FOUND, lambda _: {"path": {"slug": "uni"}}),
    "PUT /organizations/{slug}/prices": Route(
        NOT_FOUND, lambda _: {"path": {"slug": "uni"}, "json": {"prices": {}}}
    ),
    "POST /organizations/{organization}/providers/{connector}/check": Route(
        NOT_FOUND,
        lambda _: {"path": {"organization": "uni", "connector": "openai"}, "json": {}},
    ),
    "POST /mcp": Route(LIST, _listed("tools", "assistant")),
    "POST /mcp for prompts": Route(LIST, _listed("prompts", "saved_prompt")),
    "GET /tools/openapi.json": Route(LIST, lambda it: {"params": {"seen": it.assistant}}),
    # Assistants for debugging, as those of this table, are not offered.
    "POST /tools/functions/{name}": Route(
        NOT_FOUND,
        lambda it: {
            "path": {"name": f"ask_{it.assistant_name}"},
            "json": {"question": "What holds a thread?"},
        },
    ),
    "POST /mcp/pins": Route(
        NOT_FOUND,
        lambda _: {
            "json": {
                "organization": "uni",
                "credential": "library",
                "url": "https://mcp.example/mcp",
            }
        },
    ),
    "POST /mcp/pins of an address": Route(
        NOT_FOUND, lambda _: {"json": {"organization": "uni", "url": "https://mcp.example/mcp"}}
    ),
    "GET /migration/following": Route(REFUSED, lambda _: {}),
    "GET /migration/jobs": Route(REFUSED, lambda _: {}),
    "POST /migration/jobs": Route(REFUSED, lambda _: {"json": {"kind": "sweep"}}),
    "GET /migration/jobs/{id}": Route(REFUSED, lambda _: {"path": {"id": 1}}),
    "DELETE /migration/jobs/{id}": Route(REFUSED, lambda _: {"path": {"id": 1}}),
    "POST /migration/jobs/{id}/continue": Route(REFUSED, lambda _: {"path": {"id": 1}}),
    "GET /migration/jobs/{id}/findings": Route(REFUSED, lambda _: {"path": {"id": 1}}),
    "GET /migration/jobs/{id}/report": Route(REFUSED, lambda _: {"path": {"id": 1}}),
    "POST /migration/convert": Route(REFUSED, lambda it: {"json": {"id": it.assistant}}),
    "GET /keys": Route(LIST_OWN, lambda it: {"params": {"text": it.key[:0]}}),
    "POST /keys": Route(
        OWN | {"other user": "403", **shared("403")},
        lambda _: {"json": {"name": unique(), "organization": "uni", "user": OWNER.subject}},
    ),
    "DELETE /keys/{id}": Route(OWN, lambda it: {"path": {"id": it.key}}),
    "GET /usage/assistants": Route(ALL, lambda it: {"params": {"organization": it.assistant[:0]}}),
    "PUT /assistants/{id}/quota": Route(CHANGE, _assistant(limit_usd=None)),
    "POST /lamb/v1/completions/tools/{name}/run": Route(
        CREATORS,
        lambda _: {"path": {"name": "word_count"}, "json": {"question": "What is a shed?"}},
    ),
    "GET /health/details": Route(REFUSED, lambda _: {}),
}
"""By `METHOD PATH`, perhaps with words after it that tell several ways of calling apart."""

NO_IDENTIFIER = {
    "GET /v1/vector_store_options",
    "GET /creator/assistant/defaults",
    *("GET /config/ingestion", "GET /config/embeddings", "PUT /config/embeddings"),
    *("DELETE /config/embeddings", "GET /database/status"),
    *("GET /lamb/v1/completions/tools", "GET /lamb/v1/completions/list"),
    *("GET /lamb/v1/completions/orchestrators", "GET /query/plugins", "GET /ingestion/plugins"),
    *("GET /v1/me", "PUT /v1/me/password", "GET /login", "POST /login", "POST /logout"),
    *("POST /login/organization", "POST /login/operator", "GET /login/oidc/{provider}"),
    "GET /login/oidc/{provider}/callback",
    # Signed by a platform, or by the page of a launch: tests/migration/lti has their refusals.
    *("POST /lamb/v1/lti/launch", "POST /lamb/v1/lti/configure"),
    *("POST /lamb/v1/lti_users/lti", "POST /lamb/v1/lti_creator/launch"),
    *("GET /lti/login", "POST /lti/login", "POST /lti/launch", "POST /lti/configure"),
    "GET /lti/keys",
    *("GET /v1", "GET /status", "GET /health", "GET /openapi.json"),
    "GET /.well-known/oauth-protected-resource",
    "GET /.well-known/oauth-protected-resource/mcp",
    *("GET /", "GET /errors", "GET /studio", "GET /studio/{path}"),
    *("GET /chat/{assistant}", "GET /studio/chat/framed/{assistant}"),
    *("GET /docs", "GET /docs/{path}"),
    *("GET /connectors", "GET /prompt-processors", "GET /strategies", "GET /tools"),
}
"""Routes that name no thing of a user: they create things of the caller or describe Heddle."""
