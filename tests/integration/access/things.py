"""Things of the owner, one of each type, made when they are needed."""

import json
import re
import time
import uuid
from collections.abc import Collection
from functools import cached_property
from typing import Any

import httpx
from gateway.essays import EXAMPLE
from heddle.account.v1 import account_pb2
from heddle.knowledge.v1 import knowledge_pb2
from integration.access.deployments import OWNER, Deployment
from knowledge.pages.pdfs import pdf

BYPASS = {"connector": "bypass", "model": "simple-bypass"}
PAINTER = {"connector": "banana_img", "model": "gemini-2.5-flash-image"}
ABSENT_NUMBER = "987654321"


def unique() -> str:
    """Return a name that nothing has."""
    return f"a{uuid.uuid4().hex}"


def batch_of(file: str, **members: Any) -> dict[str, Any]:
    """Return the body that begins a batch."""
    body = {"input_file_id": file, "endpoint": "/v1/completions", "completion_window": "24h"}
    return {**body, **members}


def rubric_text() -> str:
    """Return the content of a rubric."""
    return json.dumps(EXAMPLE)


class Things:
    """Things of the owner, private or shared with the organisation.

    Attributes:
        content: Words in the description, the name or the content of each thing.
        prompt: Words that only those may see who may read how an assistant works.
    """

    def __init__(self, heddle: Deployment, *, shared: bool) -> None:
        self.content = f"c{uuid.uuid4().hex}"
        self.prompt = f"p{uuid.uuid4().hex}"
        self._heddle = heddle
        self._shared = shared
        self._client = heddle.rest(OWNER)

    @cached_property
    def assistant(self) -> str:
        return self._new_assistant(BYPASS)

    @property
    def assistant_name(self) -> str:
        return str(self._client.get(f"/assistants/{self.assistant}").json()["name"])

    @property
    def etag(self) -> str:
        """The version of the assistant."""
        return self._client.get(f"/assistants/{self.assistant}").headers["etag"].strip('"')

    @cached_property
    def painter(self) -> str:
        return self._new_assistant(PAINTER)

    @cached_property
    def picture(self) -> str:
        body = {"model": f"lamb_assistant.{self.painter}", "prompt": "A loom."}
        url: str = self._post("/v1/images/generations", json=body)["data"][0]["url"]
        return url.rpartition("/")[2]

    @cached_property
    def rubric(self) -> str:
        body = {"public": self._shared, "content": EXAMPLE | {"title": self.content}}
        return str(self._post("/rubrics", json=body)["id"])

    @cached_property
    def saved_prompt(self) -> str:
        body = {"public": self._shared, "title": self.content, "system_prompt": "Be brief."}
        return str(self._post("/prompts", json=body)["id"])

    @cached_property
    def group(self) -> str:
        """A group without members: assistants that are shared show no group."""
        return str(self._post("/groups", json={"title": self.content})["id"])

    @cached_property
    def response(self) -> str:
        body = {"model": f"lamb_assistant.{self.assistant}", "input": self.content}
        return str(self._post("/v1/responses", json=body)["id"])

    @cached_property
    def requests(self) -> str:
        """A file with a request for a batch."""
        line = {"custom_id": "a", "method": "POST", "url": "/v1/completions", "body": {}}
        files = {"file": ("a.jsonl", json.dumps(line))}
        return str(self._post("/v1/files", files=files, data={"purpose": "batch"})["id"])

    @cached_property
    def request_batch(self) -> str:
        metadata = {"content": self.content}
        body = batch_of(self.requests, metadata=metadata)
        return str(self._post("/v1/batches", json=body)["id"])

    @cached_property
    def conversation(self) -> str:
        return str(self._post("/v1/conversations", json={"title": self.content})["id"])

    @cached_property
    def item(self) -> str:
        """An item of the conversation."""
        body = {"items": [{"role": "user", "content": self.content}]}
        items = self._post(f"/v1/conversations/{self.conversation}/items", json=body)
        return str(items["data"][0]["id"])

    @cached_property
    def file(self) -> str:
        text = f"A heddle holds a thread. {self.content}"
        files = {"file": (f"{self.content}.txt", text)}
        return str(self._post("/v1/files", files=files, data={"purpose": "assistants"})["id"])

    @cached_property
    def store(self) -> str:
        return self._share(str(self._post("/v1/vector_stores", json={"name": self.content})["id"]))

    @cached_property
    def attached(self) -> str:
        """The file, in the store."""
        path = f"/v1/vector_stores/{self.store}/files"
        self._post(path, json={"file_id": self.file})
        self._completed(f"{path}/{self.file}")
        return self.file

    @cached_property
    def batch(self) -> str:
        path = f"/v1/vector_stores/{self.store}/file_batches"
        batch = str(self._post(path, json={"file_ids": [self.file]})["id"])
        self._completed(f"{path}/{batch}")
        return batch

    @cached_property
    def paged(self) -> str:
        """A collection whose document has pictures of its pages."""
        collection = knowledge_pb2.Collection(
            name=unique(),
            title=self.content,
            page_handling=knowledge_pb2.PAGE_HANDLING_PICTURES,
        )
        [response] = self._ask("Knowledge.CreateCollection", collection=collection)
        return self._share(response.collection.id)

    @cached_property
    def document(self) -> str:
        """The identifier of the document."""
        data = pdf(f"A shed. {self.content}", "A heddle.")
        self._ask("Knowledge.IngestDocument", collection=self.paged, name="loom.pdf", data=data)
        [response] = self._ask("Knowledge.ListDocuments", collection=self.paged)
        return str(response.documents[0].id)

    @cached_property
    def key(self) -> str:
        key = account_pb2.Key(name=self.content, organization="uni", user=OWNER.subject)
        [response] = self._ask("Account.CreateKey", key=key)
        return str(response.key.id)

    def types(self) -> list[str]:
        """Return which types of things exist."""
        return sorted(set(vars(self)) & set(TYPES))

    def state(self) -> dict[str, str]:
        """Return what the owner reads of the things that exist."""
        paths = {
            "assistant": lambda: f"/assistants/{self.assistant}",
            "rubric": lambda: f"/rubrics/{self.rubric}",
            "saved_prompt": lambda: f"/prompts/{self.saved_prompt}",
            "group": lambda: f"/groups/{self.group}",
            "response": lambda: f"/v1/responses/{self.response}",
            "conversation": lambda: f"/v1/conversations/{self.conversation}",
            "item": lambda: f"/v1/conversations/{self.conversation}/items/{self.item}",
            "file": lambda: f"/v1/files/{self.file}/content",
            "store": lambda: f"/v1/vector_stores/{self.store}",
            "attached": lambda: f"/v1/vector_stores/{self.store}/files/{self.attached}",
            "paged": lambda: f"/v1/vector_stores/{self.paged}",
            "picture": lambda: f"/v1/pictures/{self.picture}",
        }
        state = {}
        for name in self.types():
            if name in paths:
                response = self._client.get(paths[name]())
                members = re.sub(r'"last_active_at":\d+', "", response.text)
                state[name] = f"{response.status_code} {members}"
        if "key" in self.types():
            [keys] = self._ask("Account.ListKeys")
            [key] = [each for each in keys.keys if each.id == self.key]
            state["key"] = str(key)
        return state

    def _new_assistant(self, model: dict[str, str]) -> str:
        body = {
            "name": unique(),
            "description": self.content,
            "system_prompt": self.prompt,
            "prompt_template": "{user_input}",
            "model": model,
            "verbose": True,
            "published": self._shared,
        }
        return str(self._post("/assistants", json=body)["id"])

    def _share(self, store: str) -> str:
        if self._shared:
            sharing = knowledge_pb2.SHARING_ORGANIZATION
            self._ask("Knowledge.UpdateCollection", name=store, sharing=sharing)
        return store

    def _completed(self, path: str) -> None:
        until = time.monotonic() + 60
        while self._client.get(path).json()["status"] == "in_progress":
            assert time.monotonic() < until, path
            time.sleep(0.02)

    def _post(self, path: str, **body: Any) -> Any:
        response = self._client.post(path, **body)
        assert response.status_code in {httpx.codes.OK, httpx.codes.CREATED}, response.text
        return response.json()

    def _ask(self, name: str, /, **fields: Any) -> list[Any]:
        return self._heddle.ask(name, OWNER, **fields)


TYPES = [name for name, value in vars(Things).items() if isinstance(value, cached_property)]


class Absent:
    """Identifiers like those of things that exist, of which there is nothing."""

    def __init__(self, things: Things, types: Collection[str]) -> None:
        """Replace the identifiers of things of some types."""
        self._things = things
        self._types = types
        self.identifiers: dict[str, str] = {}
        """By the identifier of what exists."""

    def __getattr__(self, name: str) -> str:
        value = str(getattr(self._things, name))
        if name not in self._types:
            return value
        prefix, name_, ending = re.fullmatch(r"(.*[_-])?([^_-]+?)(\.\w+)?", value).groups("")  # type: ignore[union-attr] # it matches everything
        absent = ABSENT_NUMBER if value.isdecimal() else prefix + re.sub(r"\w", "0", name_) + ending
        self.identifiers[value] = absent
        return absent
