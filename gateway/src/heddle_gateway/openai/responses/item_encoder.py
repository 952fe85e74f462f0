"""The items of a response, and the server-sent events of a streamed one: texts and reasoning."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from heddle_runtime.contract.json_text import members

from heddle_gateway.openai.chat.event_encoder import Answer, EventEncoder, escaped, one_line
from heddle_gateway.openai.chat.run_events import new_id

_encode = msgspec.json.encode
_DELTA = (
    b"event: response.output_text.delta\n"
    b'data: {"type":"response.output_text.delta","sequence_number":'
)


class ResponseForm(msgspec.Struct, frozen=True):
    """What a request says about the form of its response."""

    echo: Mapping[str, Any]
    """The members that repeat the request."""
    include: frozenset[str] = frozenset()
    """What the client wants beside the usual members."""
    custom_tools: frozenset[str] = frozenset()
    """The functions whose calls are returned as those of custom tools."""
    seal: Callable[[str], str] | None = None
    """Encrypts what a provider needs back; None if the client does not want it."""


class Item(msgspec.Struct):
    """An item of a response, and the text that is being written in it."""

    index: int
    members: dict[str, Any]
    texts: list[str] = []
    logprobs: list[Any] = []
    about: bytes = b""
    """The members of the deltas of its text between the number and the text."""


class ItemEncoder(EventEncoder):
    """Collects the items of a response, and writes the events of its texts."""

    def __init__(
        self, form: ResponseForm, answer: Answer, *, trace: bool, streamed: bool = True
    ) -> None:
        """Begin a response; one that is not streamed has no frames."""
        super().__init__(answer, trace=trace, streamed=streamed)
        self._form = form
        self._items: list[Item] = []
        self._message: Item | None = None
        self._thought: Item | None = None
        self._held: list[Item] = []
        """Reasoning whose encrypted content is not known before the end."""
        self.response: dict[str, Any] = {
            "id": new_id("resp"),
            "object": "response",
            "created_at": int(time.time()),
            "completed_at": None,
            "status": "in_progress",
            "error": None,
            "incomplete_details": None,
            **form.echo,
            "output": [],
            "usage": None,
        }
        self._begun = time.monotonic()
        self.first_token: float | None = None
        """Seconds until the text of a streamed answer began."""
        self._number = 0
        self._snapshot = one_line(_encode(self.response)) if streamed else b""
        created = self._frame("response.created", b',"response":' + self._snapshot)
        self._opening = created + self._note(b"")

    def _frame(self, kind: str, more: bytes) -> bytes:
        if not self._streamed:
            return b""
        name = kind.encode()
        number, self._number = self._number, self._number + 1
        parts = (name, name, number, more)
        return b'event: %b\ndata: {"type":"%b","sequence_number":%d%b}\n\n' % parts

    def _members(self, kind: str, **named: object) -> bytes:
        """Return a frame with these members."""
        return self._frame(kind, b"," + one_line(_encode(named))[1:-1]) if self._streamed else b""

    def _add_item(self, prefix: str, kind: str, **more: object) -> tuple[Item, bytes]:
        """Add an item to the response; return it and its first frame."""
        members = {"id": new_id(prefix), "type": kind, "status": "in_progress", **more}
        item = Item(len(self._items), members)
        self._items.append(item)
        return item, self._members(
            "response.output_item.added", output_index=item.index, item=members
        )

    def _item_done(self, item: Item) -> bytes:
        return self._members(
            "response.output_item.done", output_index=item.index, item=item.members
        )

    def _item_event(self, event: str, item: Item, **more: object) -> bytes:
        return self._members(
            f"response.{event}", item_id=item.members["id"], output_index=item.index, **more
        )

    def _note(self, members: bytes) -> bytes:
        return self._frame("response.in_progress", b',"response":' + self._snapshot + members)

    def _begin(self, prefix: str, kind: str, place: str, **more: object) -> tuple[Item, bytes]:
        """Add an item with a text; `place` is the member that counts its parts."""
        item, frame = self._add_item(prefix, kind, **more)
        names = item.members["id"].encode(), item.index, place.encode()
        item.about = b',"item_id":"%b","output_index":%d,"%b":0,"delta":' % names
        return item, frame

    def _text(self, text: str, logprobs_json: str) -> bytes:
        frames = b""
        if (message := self._message) is None:
            message, frames = self._begin_message()
        message.texts.append(text)
        logprobs = _logprobs(logprobs_json) if logprobs_json else []
        message.logprobs += logprobs
        if not self._streamed:
            return b""
        number, self._number = self._number, self._number + 1
        more = one_line(_encode(logprobs)) if logprobs else b"[]"
        parts = (frames, _DELTA, number, message.about, escaped(text), more)
        return b'%b%b%d%b%b,"logprobs":%b}\n\n' % parts

    def _begin_message(self) -> tuple[Item, bytes]:
        frames = self._end_thought()
        if self.first_token is None and self._streamed:
            self.first_token = time.monotonic() - self._begun
        message, frame = self._begin(
            "msg", "message", "content_index", role="assistant", content=[]
        )
        self._message = message
        part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        added = self._item_event("content_part.added", message, content_index=0, part=part)
        return message, frames + frame + added

    def _end_message(
        self, cited: Sequence[dict[str, Any]] = (), status: str = "completed"
    ) -> bytes:
        if (message := self._message) is None:
            return b""
        self._message = None
        part = _text_part(message, cited)
        done = {name: part[name] for name in ("text", "logprobs")}
        message.members |= {"status": status, "content": [part]}
        event = partial(self._item_event, item=message, content_index=0)
        frames = [
            event("output_text.annotation.added", annotation_index=number, annotation=each)
            for number, each in enumerate(cited)
        ]
        frames += [event("output_text.done", **done), event("content_part.done", part=part)]
        return b"".join([*frames, self._item_done(message)])

    def _reasoning(self, text: str, more: bytes = b"") -> bytes:
        frames = self._end_message()
        if (thought := self._thought) is None:
            thought, frame = self._begin("rs", "reasoning", "summary_index", summary=[])
            self._thought = thought
            part = {"type": "summary_text", "text": ""}
            frames += frame + self._item_event(
                "reasoning_summary_part.added", thought, summary_index=0, part=part
            )
        thought.texts.append(text)
        delta = thought.about + escaped(text)
        frames += self._frame("response.reasoning_summary_text.delta", delta)
        return frames + self._note(more) if more else frames

    def _end_thought(self) -> bytes:
        if (thought := self._thought) is None:
            return b""
        self._thought = None
        part = {"type": "summary_text", "text": "".join(thought.texts)}
        thought.members |= {"status": "completed", "summary": [part]}
        event = partial(self._item_event, item=thought, summary_index=0)
        frames = event("reasoning_summary_text.done", text=part["text"])
        frames += event("reasoning_summary_part.done", part=part)
        if self._form.seal is not None:
            self._held.append(thought)
            return frames
        return frames + self._item_done(thought)

    def _keep_text(self) -> None:
        """Put what is written of the message into it, as nothing more follows."""
        if self._message is not None:
            self._message.members["content"] = [_text_part(self._message)]

    def _end_texts(self) -> bytes:
        return self._end_message() + self._end_thought()


def _text_part(message: Item, cited: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    return {
        "type": "output_text",
        "text": "".join(message.texts),
        "logprobs": message.logprobs,
        "annotations": list(cited),
    }


def _logprobs(text: str) -> list[dict[str, Any]]:
    """Return log probabilities of a provider, of which each has the bytes of its token."""
    content = members(text).get("content")
    entries = [each for each in content or () if isinstance(each, dict)]
    for entry in entries:
        entry["top_logprobs"] = top = entry.get("top_logprobs") or []
        for each in (entry, *top):
            each["bytes"] = each.get("bytes") or list(str(each.get("token", "")).encode())
    return entries
