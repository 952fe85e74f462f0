"""Encodes run events as a response, and as the server-sent events of a streamed one."""

import re
import time
from collections.abc import Sequence
from typing import Any

import msgspec
from heddle.chat.v1.chat_pb2 import Done, GeneratedImage, ToolCall, Usage
from heddle.orchestrator.v1.orchestrator_pb2 import Sources, ToolFinished, ToolStarted
from heddle.tool.v1.tool_pb2 import Source
from heddle_runtime.contract.json_text import members

from heddle_gateway.http.error_responses import ErrorResponse
from heddle_gateway.openai.chat import run_events
from heddle_gateway.openai.chat.event_encoder import Answer, one_line
from heddle_gateway.openai.chat.run_events import citations, file_id, web_citation
from heddle_gateway.openai.conversations.items import APPROVAL_REQUEST, CONFIRM
from heddle_gateway.openai.responses.hosted_tools import MCP_BINDING
from heddle_gateway.openai.responses.item_encoder import Item, ItemEncoder, ResponseForm

FILE_SEARCH, WEB_SEARCH, OTHER_TOOL = "file_search_call", "web_search_call", "mcp_call"
SERVER_LABEL = "heddle"
_PAGE = re.compile(r"\d{1,9}", re.ASCII)
_PICTURE = re.compile(r"/v1/vector_stores/([\w-]+)/files/([\w-]+)/", re.ASCII)
_FILE_SEARCHES = frozenset(
    {
        *("simple_rag", "context_aware_rag", "hierarchical_rag", "retrieve_documents"),
        *("fast_vector_search", "hybrid_search", "colqwen_search", "graph_search"),
    }
)


def tool_kind(event: ToolStarted | ToolFinished) -> tuple[str, str]:
    """Return the prefix of the identifier of the item of a tool that runs, and its type."""
    if event.tool == "web_search":
        return "ws", WEB_SEARCH
    return ("fs", FILE_SEARCH) if event.tool in _FILE_SEARCHES else ("mcp", OTHER_TOOL)


def tool_members(event: ToolStarted | ToolFinished) -> dict[str, Any]:
    """Return the members of the item that depend on its type."""
    arguments = event.call.arguments_json
    query = members(arguments).get("query") if arguments else None
    text = query if isinstance(query, str) else ""
    if event.tool == "web_search":
        return {"action": {"type": "search", "query": text}}
    if event.tool in _FILE_SEARCHES:
        return {"queries": [text] if text else [], "results": None}
    return {
        "approval_request_id": None,
        "server_label": _server_label(event.binding_id),
        "name": run_events.tool_name(event),
        "arguments": arguments or "{}",
        "output": None,
        "error": None,
    }


def approval(call: ToolCall) -> dict[str, Any]:
    """Return the members of the item that asks the user to approve a call.

    `confirmation` is what the approval sends to the orchestrator.
    """
    question = members(call.arguments_json)
    return {
        "status": "completed",
        "server_label": _server_label(question.get("binding_id", "")),
        "name": question.get("function", ""),
        "arguments": msgspec.json.encode(question.get("arguments", {})).decode(),
        "confirmation": question.get("confirmation", ""),
        **extra_content(call),
    }


def _server_label(binding: str) -> str:
    """Return the server of a tool: the client's label of an MCP server, else Heddle."""
    return binding.removeprefix(MCP_BINDING) if binding.startswith(MCP_BINDING) else SERVER_LABEL


def extra_content(call: ToolCall) -> dict[str, Any]:
    """Return the member of a call's item with what the provider needs back, if there is some."""
    extra = members(call.extra_json) if call.extra_json else {}
    return {name: value for name, value in extra.items() if name == "extra_content"}


def end_tool(item: dict[str, Any], finished: ToolFinished) -> None:
    """Set the status of an item, and the error of a tool that failed."""
    if not finished.HasField("error"):
        item["status"] = "completed"
        return
    item["status"] = "failed"
    if item["type"] == OTHER_TOOL:  # an object: a text makes openai-python warn
        text = finished.error.message or "The tool failed."
        content = [{"type": "text", "text": text}]
        item["error"] = {"type": "mcp_tool_execution_error", "content": content}


def add_results(item: dict[str, Any], sources: Sequence[Source]) -> None:
    """Add what a search found to its item."""
    if item["type"] == FILE_SEARCH:
        item["results"] = [
            {
                "filename": each.title,
                "text": each.excerpt,
                "score": each.score if each.HasField("score") else None,
                **_place(each),
            }
            for each in sources
        ]
    elif item["type"] == WEB_SEARCH:
        item["action"]["sources"] = [{"type": "url", "url": each.uri} for each in sources]


def _place(source: Source) -> dict[str, Any]:
    """Return the file of a source; its page, counted from 1, and its vector store if known."""
    page = source.attributes.get("page", "")
    picture = _PICTURE.match(source.attributes.get("picture_uri", ""))
    return {
        "file_id": picture[2] if picture else file_id(source),
        "attributes": {"page": int(page)} if _PAGE.fullmatch(page) else {},
        "vector_store_id": picture[1] if picture else None,
    }


def annotations(sources: Sequence[Source]) -> list[dict[str, Any]]:
    """Return the citations of sources: of those with a web address, and of other files."""
    return [
        {"type": "url_citation", **web_citation(each)}
        if each.url
        else {
            "type": "file_citation",
            "file_id": each.file,
            "filename": each.title,
            "index": 0,
        }
        for each in citations(sources)
    ]


_TOO_MANY = 429
_encode = msgspec.json.encode
# The types of items whose results clients can ask for.
_RESULTS = {
    "file_search_call.results": FILE_SEARCH,
    "web_search_call.action.sources": WEB_SEARCH,
}
_ANSWERS = frozenset(
    ("message", "function_call", "custom_tool_call", "image_generation_call", APPROVAL_REQUEST)
)
# The prefix of the identifier, the type, the member of the value, and the name of the events.
_CALL = ("fc", "function_call", "arguments", "function_call_arguments")
_CUSTOM_CALL = ("ctc", "custom_tool_call", "input", "custom_tool_call_input")
_REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}


class ResponseEncoder(ItemEncoder):
    """Turns batches of events into events of a response."""

    def __init__(
        self, form: ResponseForm, answer: Answer, *, trace: bool, streamed: bool = True
    ) -> None:
        """Begin a response; one that is not streamed has no frames."""
        super().__init__(form, answer, trace=trace, streamed=streamed)
        self._tools: dict[tuple[str, str], Item] = {}
        self._awaiting: dict[str, list[Item]] = {}
        """Searches whose results follow, by binding."""
        self._result_types = {_RESULTS[each] for each in form.include if each in _RESULTS}

    def body(self) -> bytes:
        """Return the response as JSON."""
        return _encode(self.response)

    def failure(self, error: ErrorResponse) -> bytes:
        """Return the frames that end a stream which failed."""
        self._keep_text()
        output = [each.members for each in self._items]
        for item in output:
            if item["status"] == "in_progress":
                item["status"] = "incomplete"
        # OpenAI's clients know these codes only.
        code = "rate_limit_exceeded" if error.status == _TOO_MANY else "server_error"
        self.response["error"] = {"code": code, "message": error.message}
        self.response |= {"status": "failed", "output": output}
        return self._opened(self._end_progress() + self._final())

    def _tool_began(self, started: ToolStarted) -> bytes:
        if self._view == "none":
            return b""
        frames = self._end_texts()
        item, added = self._add_item(*tool_kind(started), **tool_members(started))
        self._tools[started.binding_id, started.call.id] = item
        kind = item.members["type"]
        frames += added + self._item_event(f"{kind}.in_progress", item)
        if kind != OTHER_TOOL:
            frames += self._item_event(f"{kind}.searching", item)
        return frames

    def _tool_ended(self, finished: ToolFinished) -> bytes:
        if self._view == "none":
            return b""
        frames = b""
        if (item := self._tools.pop((finished.binding_id, finished.call.id), None)) is None:
            # It was refused, or the response is not streamed.
            frames = self._end_texts()
            item, added = self._add_item(*tool_kind(finished), **tool_members(finished))
            frames += added
        end_tool(item.members, finished)
        kind, failed = item.members["type"], item.members["status"] == "failed"
        if not failed or kind == OTHER_TOOL:  # only these have an event for failures
            frames += self._item_event(f"{kind}.failed" if failed else f"{kind}.completed", item)
        if kind in self._result_types and not failed:
            self._awaiting.setdefault(finished.binding_id, []).append(item)
            return frames
        return frames + self._item_done(item)

    def _tool_sources(self, event: Sources) -> bytes:
        frames = super()._tool_sources(event)
        if not (awaiting := self._awaiting.get(event.binding_id)):
            return frames
        item = awaiting.pop(0)
        add_results(item.members, event.sources)
        return frames + self._item_done(item)

    def _call(self, call: ToolCall) -> bytes:
        if call.name == CONFIRM:
            frames = self._end_texts()
            item, added = self._add_item("mcpr", APPROVAL_REQUEST, **approval(call))
            return frames + added + self._item_done(item)
        value = call.arguments_json
        if is_custom := call.name in self._form.custom_tools:
            text = members(value).get("input")
            value = text if isinstance(text, str) else value
        prefix, kind, member, event = _CUSTOM_CALL if is_custom else _CALL
        about = {"call_id": call.id, "name": call.name, member: "", **extra_content(call)}
        frames = self._end_texts()
        item, added = self._add_item(prefix, kind, **about)
        frames += added + self._item_event(f"{event}.delta", item, delta=value)
        item.members |= {member: value, "status": "completed"}
        done = {member: value} if is_custom else {member: value, "name": call.name}
        return frames + self._item_event(f"{event}.done", item, **done) + self._item_done(item)

    def _image(self, image: GeneratedImage) -> bytes:
        frames = self._end_texts()
        kind = "image_generation_call"
        item, added = self._add_item("ig", kind)
        frames += added
        for event in ("in_progress", "generating", "completed"):
            frames += self._item_event(f"{kind}.{event}", item)
        item.members |= {"status": "completed", "result": run_events.encoded(image)}
        return frames + self._item_done(item)

    def _done(self, done: Done) -> bytes:
        frames = b""
        if self._message is None and not any(e.members["type"] in _ANSWERS for e in self._items):
            _, frames = self._begin_message()
        reason = _REASONS.get(run_events.finish_reason(done, len(self._calls)))
        status = "incomplete" if reason else "completed"
        frames += self._end_message(annotations(self._cited()), status) + self._end_thought()
        for item in (each for waiting in self._awaiting.values() for each in waiting):
            frames += self._item_done(item)
        frames += self._end_held(done)
        if heddle := self._heddle():
            self.response["heddle"] = heddle
        if tier := run_events.provider_metadata(done.provider_metadata_json).get("service_tier"):
            self.response["service_tier"] = tier
        self.response |= {
            "completed_at": int(time.time()) if reason is None else None,
            "incomplete_details": {"reason": reason} if reason else None,
            "usage": _usage(done.usage),
            "status": status,
            "output": [each.members for each in self._items],
        }
        return frames

    def empty(self) -> bytes:
        """Return the frames before the end of a response without output."""
        now = {"completed_at": int(time.time()), "status": "completed", "usage": _usage(Usage())}
        self.response |= now
        return self._opening

    def end(self) -> bytes:
        """Return the last frame of a response that is complete."""
        return self._final()

    def _end_held(self, done: Done) -> bytes:
        """Return the ends of reasoning, the last one with what the provider needs back."""
        if (seal := self._form.seal) is None:
            return b""
        frames = b""
        if extra := run_events.message_extra(done, len(self._calls)):
            if not self._held:
                item, frames = self._add_item("rs", "reasoning", summary=[])
                self._held.append(item)
            sealed = seal(_encode(extra).decode())
            self._held[-1].members.update(status="completed", encrypted_content=sealed)
        return frames + b"".join(map(self._item_done, self._held))

    def _final(self) -> bytes:
        if not self._streamed:
            return b""
        kind = f"response.{self.response['status']}"
        return self._frame(kind, b',"response":' + one_line(_encode(self.response)))


def _usage(counts: Usage) -> dict[str, Any]:
    """Return the usage of a run in the form of a response."""
    usage = run_events.usage(counts)
    return {
        "input_tokens": usage["prompt_tokens"],
        "input_tokens_details": {**usage["prompt_tokens_details"], "cache_write_tokens": 0},
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": usage["completion_tokens_details"],
        "total_tokens": usage["total_tokens"],
    }
