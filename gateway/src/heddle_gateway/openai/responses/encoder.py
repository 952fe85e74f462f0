"""Encodes run events as a response, and as the server-sent events of a streamed one."""

import time
from collections.abc import Iterable
from typing import Any

import msgspec
from heddle.chat.v1.chat_pb2 import Done, GeneratedImage, ToolCall, Usage
from heddle.orchestrator.v1.orchestrator_pb2 import RunEvent, Sources, ToolFinished, ToolStarted
from heddle_runtime.contract.json_text import members

from heddle_gateway.http.error_responses import ErrorResponse
from heddle_gateway.openai.chat import run_events
from heddle_gateway.openai.chat.event_encoder import Answer, one_line
from heddle_gateway.openai.chat.run_report import RunReport
from heddle_gateway.openai.identifiers import new_id
from heddle_gateway.openai.responses.item_encoder import ItemEncoder, ResponseForm, reasoning_item
from heddle_gateway.openai.responses.tool_items import (
    FILE_SEARCH,
    OTHER_TOOL,
    WEB_SEARCH,
    add_results,
    annotations,
    end_tool,
    tool_item,
)

_TOO_MANY = 429
_encode = msgspec.json.encode
# The types of items whose results clients can ask for.
_RESULTS = {
    "file_search_call.results": FILE_SEARCH,
    "web_search_call.action.sources": WEB_SEARCH,
}
_ANSWERS = frozenset({"message", "function_call", "custom_tool_call", "image_generation_call"})
_REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}


class ResponseEncoder(ItemEncoder):
    """Turns batches of events into events of a response."""

    def __init__(
        self, form: ResponseForm, answer: Answer, *, trace: bool, streamed: bool = True
    ) -> None:
        """Begin a response; one that is not streamed has no frames."""
        super().__init__(form, answer, trace=trace, streamed=streamed)
        self.done: Done | None = None
        self._tools: dict[tuple[str, str], tuple[int, dict[str, Any]]] = {}
        self._awaiting: dict[str, list[tuple[int, dict[str, Any]]]] = {}
        """Searches whose results follow, by binding."""
        self._result_types = {_RESULTS[each] for each in form.include if each in _RESULTS}
        self._calls = 0

    @property
    def report(self) -> RunReport:
        """The report on the run."""
        return self._report

    def add(self, events: Iterable[RunEvent]) -> None:
        """Add events of a response that is not streamed."""
        self.encode(events)

    def body(self) -> bytes:
        """Return the response as JSON."""
        return _encode(self.response)

    def failure(self, error: ErrorResponse) -> bytes:
        """Return the frames that end a stream which failed."""
        for item in self._items:
            if item["status"] == "in_progress":
                item["status"] = "incomplete"
        # OpenAI's clients know these codes only.
        code = "rate_limit_exceeded" if error.status == _TOO_MANY else "server_error"
        self.response["error"] = {"code": code, "message": error.message}
        self.response |= {"status": "failed", "output": self._items}
        return self._opened(self._end_progress() + self._final())

    def _tool_began(self, started: ToolStarted) -> bytes:
        if self._view == "none":
            return b""
        frames = self._end_texts()
        index, added = self._add_item(item := tool_item(started))
        self._tools[started.binding_id, started.call.id] = index, item
        kind = item["type"]
        frames += added + self._item_event(f"{kind}.in_progress", index, item)
        if kind != OTHER_TOOL:
            frames += self._item_event(f"{kind}.searching", index, item)
        return frames

    def _tool_ended(self, finished: ToolFinished) -> bytes:
        if self._view == "none":
            return b""
        frames = b""
        run = finished.binding_id, finished.call.id
        if run in self._tools:
            index, item = self._tools.pop(run)
        else:  # it was refused, or the response is not streamed
            frames = self._end_texts()
            index, added = self._add_item(item := tool_item(finished))
            frames += added
        end_tool(item, finished)
        kind, failed = item["type"], item["status"] == "failed"
        if not failed or kind == OTHER_TOOL:  # only these have an event for failures
            frames += self._item_event(
                f"{kind}.failed" if failed else f"{kind}.completed", index, item
            )
        if kind in self._result_types and not failed:
            self._awaiting.setdefault(finished.binding_id, []).append((index, item))
            return frames
        return frames + self._item_done(index, item)

    def _tool_sources(self, event: Sources) -> bytes:
        frames = super()._tool_sources(event)
        if not (awaiting := self._awaiting.get(event.binding_id)):
            return frames
        index, item = awaiting.pop(0)
        add_results(item, event.sources)
        return frames + self._item_done(index, item)

    def _call(self, call: ToolCall) -> bytes:
        self._calls += 1
        frames = self._end_progress() + self._end_texts()
        kind, member, prefix, event = "function_call", "arguments", "fc", "function_call_arguments"
        value = call.arguments_json
        if call.name in self._form.custom_tools:
            kind, member, prefix = "custom_tool_call", "input", "ctc"
            event = "custom_tool_call_input"
            text = members(value).get("input")
            value = text if isinstance(text, str) else value
        item = {
            "id": new_id(prefix),
            "type": kind,
            "status": "in_progress",
            "call_id": call.id,
            "name": call.name,
            member: "",
        }
        if call.extra_json and "extra_content" in (extra := members(call.extra_json)):
            item["extra_content"] = extra["extra_content"]
        index, added = self._add_item(item)
        frames += added + self._item_event(f"{event}.delta", index, item, delta=value)
        item |= {member: value, "status": "completed"}
        done = {member: value, "name": call.name} if member == "arguments" else {member: value}
        return (
            frames
            + self._item_event(f"{event}.done", index, item, **done)
            + self._item_done(index, item)
        )

    def _image(self, image: GeneratedImage) -> bytes:
        frames = self._end_progress() + self._end_texts()
        kind = "image_generation_call"
        index, added = self._add_item(
            item := {"id": new_id("ig"), "type": kind, "status": "in_progress"}
        )
        frames += added
        for event in ("in_progress", "generating", "completed"):
            frames += self._item_event(f"{kind}.{event}", index, item)
        item |= {"status": "completed", "result": run_events.encoded(image)}
        return frames + self._item_done(index, item)

    def _done(self, done: Done) -> bytes:
        self._end(done)
        self.done = done
        frames = self._end_progress()
        if self._message is None and not any(each["type"] in _ANSWERS for each in self._items):
            frames += self._begin_message()
        reason = _REASONS.get(run_events.finish_reason(done, self._calls))
        status = "incomplete" if reason else "completed"
        # Open WebUI shows the sources by events.
        cited = annotations(self._sources) if self._view != "openwebui" else ()
        frames += self._end_message(cited, status) + self._end_thought()
        for index, item in (each for waiting in self._awaiting.values() for each in waiting):
            frames += self._item_done(index, item)
        frames += self._end_held(done)
        is_quiet = self._view == "none"
        events = [each for each in self._events if not is_quiet or each["type"] == "trace"]
        report = self._report.event(problems_only=is_quiet)
        if report or events:
            self.response["heddle"] = [*events, report] if report else events
        if tier := run_events.provider_metadata(done.provider_metadata_json).get("service_tier"):
            self.response["service_tier"] = tier
        self.response |= {
            "completed_at": int(time.time()) if reason is None else None,
            "incomplete_details": {"reason": reason} if reason else None,
            "usage": _usage(done.usage),
        }
        self.response |= {"status": status, "output": self._items}
        return frames

    def end(self) -> bytes:
        """Return the last frame of a response that is complete."""
        return self._final()

    def _end_held(self, done: Done) -> bytes:
        """Return the ends of reasoning, the last one with what the provider needs back."""
        if (seal := self._form.seal) is None:
            return b""
        frames = b""
        if extra := run_events.message_extra(done, self._calls):
            if not self._held:
                index, frames = self._add_item(item := reasoning_item())
                self._held.append((index, item))
            sealed = seal(_encode(extra).decode())
            self._held[-1][1].update(status="completed", encrypted_content=sealed)
        return frames + b"".join(self._item_done(index, item) for index, item in self._held)

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
