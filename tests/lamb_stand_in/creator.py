"""The routes of the stand-in that read and write its database: assistants, files and chats."""

import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from aiohttp import BodyPartReader, web

from lamb_stand_in.rows import Rows
from lamb_stand_in.tokens import email_of

_REQUIRED = ("prompt_processor", "connector", "llm", "rag_processor")
_CAPABILITIES = {"vision": False, "image_generation": False}
PARTS = {
    "prompt_processors": ["simple_augment"],
    "connectors": {"bypass": {"name": "bypass", "available_llms": ["full-conversation-bypass"]}},
    "rag_processors": ["no_rag", "rubric_rag", "simple_rag", "single_file_rag"],
}
"""What LAMB's form offers. An assistant with another part does not answer."""
User = dict[str, Any]
Handler = Callable[[web.Request, User], Awaitable[web.StreamResponse]]


class CreatorRoutes:
    """LAMB's routes for its pages, and its list of models."""

    def __init__(self, rows: Rows, secret: str, files: Path) -> None:
        """Prepare.

        Args:
            rows: The database.
            secret: With which tokens are signed.
            files: The folder of uploaded files, with a folder for each user.
        """
        self._rows = rows
        self._secret = secret
        self._files = files

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Serve the routes."""
        assistant = "/creator/assistant"
        router.add_get(f"{assistant}/get_assistants", self._by_user(self._list))
        router.add_get(f"{assistant}/get_assistant/{{id}}", self._by_user(self._get))
        router.add_post(f"{assistant}/create_assistant", self._by_user(self._create))
        router.add_put(f"{assistant}/update_assistant/{{id}}", self._by_user(self._update))
        router.add_delete(f"{assistant}/delete_assistant/{{id}}", self._by_user(self._delete))
        router.add_put(f"{assistant}/publish/{{id}}", self._by_user(self._publish))
        router.add_post(f"{assistant}/{{id}}/chat/completions", self._by_user(self._chat))
        router.add_get("/creator/files/list", self._by_user(self._list_files))
        router.add_post("/creator/files/upload", self._by_user(self._upload))
        router.add_get("/v1/models", self._models)
        router.add_get("/models", self._models)

    def _by_user(self, handler: Handler) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            email = email_of(request.headers.get("authorization", ""), self._secret)
            user = self._rows.user(email) if email else None
            if user is None:
                return _refusal(401, "Invalid or expired authentication token")
            return await handler(request, user)

        return handle

    async def _list(self, request: web.Request, user: User) -> web.Response:
        limit, offset = (int(request.query.get(*it)) for it in (("limit", 10), ("offset", 0)))
        rows = self._rows.assistants(user["user_email"])
        page = [_view(row) for row in rows[offset : offset + limit]]
        return web.json_response({"assistants": page, "total_count": len(rows)})

    async def _get(self, request: web.Request, user: User) -> web.Response:
        row = self._own(request, user)
        return web.json_response(_view(row))

    async def _create(self, request: web.Request, user: User) -> web.Response:
        body = await request.json()
        metadata = {
            "prompt_processor": "simple_augment",
            "rag_processor": "no_rag",
            "connector": "bypass",
            "llm": "full-conversation-bypass",
            "file_path": "",
        }
        columns = {"api_callback": json.dumps(metadata), "RAG_Top_k": 3, **_columns(body)}
        identifier = self._rows.create(user, columns)
        return web.json_response({"assistant_id": identifier, "name": body["name"]})

    async def _update(self, request: web.Request, user: User) -> web.Response:
        row = self._own(request, user)
        columns = _columns(await request.json())
        metadata = json.loads(columns.get("api_callback", "{}"))
        if missing := [name for name in _REQUIRED if not str(metadata.get(name, "")).strip()]:
            return _refusal(400, f"Missing or empty plugin metadata: {', '.join(missing)}")
        if not columns.get("name", "").startswith(f"{user['id']}_"):
            columns["name"] = f"{user['id']}_{columns['name']}"
        self._rows.update(row["id"], columns)
        return compact({"assistant_id": row["id"], "message": "Assistant updated successfully"})

    async def _delete(self, request: web.Request, user: User) -> web.Response:
        self._rows.delete(self._own(request, user)["id"])
        return web.json_response({"message": "Assistant deleted successfully"})

    async def _publish(self, request: web.Request, user: User) -> web.Response:
        identifier = self._own(request, user)["id"]
        self._rows.publish(identifier, published=(await request.json())["publish_status"])
        return web.json_response(_view(self._own(request, user)))

    async def _chat(self, request: web.Request, user: User) -> web.StreamResponse:
        """Answer with the prompt, as LAMB's connector `bypass` does, and store the chat."""
        row = self._rows.assistant(int(request.match_info["id"]))
        if row is None or row["organization_id"] != user["organization_id"]:
            return _refusal(403, "Access denied.")
        if missing := _unknown_part(_metadata(row)):
            return _refusal(400, missing)
        body = await request.json()
        prompt = _prompt(row, body["messages"][-1]["content"])
        if body.get("debug_bypass"):
            shown = f"Messages:\n{json.dumps(prompt, indent=2)}\n\nBody:\n{json.dumps(body)}"
            return web.json_response(_completion(shown))
        answer = "\n".join(each["content"] for each in prompt)
        messages = [*body["messages"], {"role": "assistant", "content": answer}]
        headers: dict[str, str] = {}
        if body.get("persist_chat", True):
            chat = body.get("chat_id") or ""
            chat = self._rows.store_chat(user["id"], row["id"], messages, chat)
            headers["x-chat-id"] = chat
        if not body.get("stream"):
            chat_id = headers.get("x-chat-id", "")
            return web.json_response({**_completion(answer), "chat_id": chat_id})
        response = web.StreamResponse(headers={**headers, "content-type": "text/event-stream"})
        await response.prepare(request)
        for word in answer.split(" "):
            choice = {"index": 0, "delta": {"content": f"{word} "}, "finish_reason": None}
            chunk = {"id": "x", "object": "chat.completion.chunk", "choices": [choice]}
            await response.write(f"data: {json.dumps(chunk)}\n\n".encode())
        await response.write(b"data: [DONE]\n\n")
        return response

    async def _list_files(self, _: web.Request, user: User) -> web.Response:
        files = sorted(self._folder(user).iterdir())
        return web.json_response([{"path": _path(user, it), "name": it.name} for it in files])

    async def _upload(self, request: web.Request, user: User) -> web.Response:
        part = await (await request.multipart()).next()
        assert isinstance(part, BodyPartReader)
        file = self._folder(user) / Path(str(part.filename)).name
        with file.open("wb") as stored:
            while data := await part.read_chunk(1 << 16):
                stored.write(data)
        size = file.stat().st_size
        return web.json_response({"path": _path(user, file), "name": file.name, "size": size})

    async def _models(self, _: web.Request) -> web.Response:
        """List the published assistants. LAMB asks for no key here, and sends no names."""
        data = [
            {
                "id": f"lamb_assistant.{row['id']}",
                "object": "model",
                "created": int(time.time()),
                "owned_by": "lamb_v4",
                "parent": None,
                "capabilities": _CAPABILITIES | _metadata(row).get("capabilities", {}),
            }
            for row in self._rows.published()
        ]
        return web.json_response({"object": "list", "data": data})

    def _own(self, request: web.Request, user: User) -> dict[str, Any]:
        """Return the assistant of a request, of which the user is the owner."""
        row = self._rows.assistant(int(request.match_info["id"]))
        if row is None or row["owner"] != user["user_email"]:
            detail = json.dumps({"detail": "Assistant not found"})
            raise web.HTTPNotFound(text=detail, content_type="application/json")
        return row

    def _folder(self, user: User) -> Path:
        folder = self._files / str(user["id"])
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def compact(body: Any, status: int = 200) -> web.Response:
    """Return JSON without spaces, as LAMB's server writes it."""
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    return web.json_response(text=text, status=status)


def _unknown_part(metadata: dict[str, Any]) -> str:
    """Return what LAMB says about a part that it does not have; empty if it has all."""
    parts = {
        "Prompt processor": ("prompt_processor", PARTS["prompt_processors"]),
        "Connector": ("connector", PARTS["connectors"]),
        "RAG processor": ("rag_processor", PARTS["rag_processors"]),
    }
    for kind, (member, known) in parts.items():
        if (name := metadata.get(member)) and name not in known:
            return f"{kind} '{name}' not found"
    return ""


def _prompt(row: dict[str, Any], question: str) -> list[dict[str, str]]:
    """Return the messages of LAMB's `simple_augment` without passages."""
    text = (row["prompt_template"] or "").replace("{user_input}", f"\n\n{question}\n\n")
    content = text.replace("{context}", "\n\n\n\n") or question
    system = {"role": "system", "content": row["system_prompt"]}
    return [*([system] if row["system_prompt"] else []), {"role": "user", "content": content}]


def _completion(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


def _columns(body: dict[str, Any]) -> dict[str, Any]:
    """Return a body with LAMB's two names of the metadata as the one of the table."""
    metadata = body.get("metadata", body.get("api_callback"))
    columns = {key: value for key, value in body.items() if key != "metadata"}
    if metadata is not None:
        text = metadata if isinstance(metadata, str) else json.dumps(metadata)
        columns["api_callback"] = text
    return columns


def _metadata(row: dict[str, Any]) -> dict[str, Any]:
    try:
        metadata = json.loads(row["api_callback"] or "{}")
    except ValueError:
        return {}
    return metadata if isinstance(metadata, dict) else {}


def _view(row: dict[str, Any]) -> dict[str, Any]:
    published = bool(row["published"])
    return {**row, "metadata": row["api_callback"], "published": published, "is_owner": True}


def _path(user: User, file: Path) -> str:
    return f"{user['id']}/{file.name}"


def _refusal(status: int, detail: str) -> web.Response:
    return web.json_response({"detail": detail}, status=status)
