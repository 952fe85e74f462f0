"""The items of a response, and the server-sent events of a streamed one: texts and reasoning."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from heddle_runtime.contract.json_text import members

from heddle_gateway.openai.chat.event_encoder import Answer, EventEncoder, escaped, one_line
from heddle_gateway.openai.identifiers import new_id

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


def reasoning_item() -> dict[str, Any]:
    """Return the item of a reasoning that begins."""
    return {"id": new_id("rs"), "type": "reasoning", "status": "in_progress", "summary": []}


class _Written(msgspec.Struct):
    """A text that is being written."""

    index: int
    item: dict[str, Any]
    about: bytes
    """The members of its deltas between the number and the text."""
    texts: list[str]
    logprobs: list[Any]


class ItemEncoder(EventEncoder):
    """Collects the items of a response, and writes the events of its texts."""

    def __init__(
        self, form: ResponseForm, answer: Answer, *, trace: bool, streamed: bool = True
    ) -> None:
        """Begin a response; one that is not streamed has no frames."""
        super().__init__(answer, trace=trace)
        self._form = form
        self._streamed = streamed
        self._items: list[dict[str, Any]] = []
        self._message: _Written | None = None
        self._thought: _Written | None = None
        self._held: list[tuple[int, dict[str, Any]]] = []
        """Reasoning whose encrypted content is not known before the end."""
        self._events: list[dict[str, Any]] = []
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

    def _add_item(self, item: dict[str, Any]) -> tuple[int, bytes]:
        """Add an item to the response; return its index and its first frame."""
        index = len(self._items)
        self._items.append(item)
        return index, self._members("response.output_item.added", output_index=index, item=item)

    def _item_done(self, index: int, item: dict[str, Any]) -> bytes:
        return self._members("response.output_item.done", output_index=index, item=item)

    def _item_event(self, event: str, index: int, item: dict[str, Any], **more: object) -> bytes:
        kind = f"response.{event}"
        return self._members(kind, item_id=item["id"], output_index=index, **more)

    def _note(self, members: bytes) -> bytes:
        return self._frame("response.in_progress", b',"response":' + self._snapshot + members)

    def _extension(self, event: dict[str, Any]) -> bytes:
        self._events.append(event)
        return super()._extension(event)

    def _begin(self, item: dict[str, Any], place: str) -> tuple[_Written, bytes]:
        """Add an item with a text; `place` is the member that counts its parts."""
        index, frame = self._add_item(item)
        about = b',"item_id":"%b","output_index":%d,"%b":0,"delta":' % (
            item["id"].encode(),
            index,
            place.encode(),
        )
        return _Written(index, item, about, [], []), frame

    def _text(self, logprobs_json: str) -> bytes:
        text = "".join(self._texts)
        self._texts.clear()
        frames = self._end_progress() if self._line else b""
        if (message := self._message) is None:
            frames += self._begin_message()
            message = self._message
            assert message is not None  # noqa: S101 - it was begun
        message.texts.append(text)
        logprobs = _logprobs(logprobs_json) if logprobs_json else []
        message.logprobs += logprobs
        if not self._streamed:
            return b""
        number, self._number = self._number, self._number + 1
        more = one_line(_encode(logprobs)) if logprobs else b"[]"
        parts = (frames, _DELTA, number, message.about, escaped(text), more)
        return b'%b%b%d%b%b,"logprobs":%b}\n\n' % parts

    def _begin_message(self) -> bytes:
        frames = self._end_thought()
        item = {
            "id": new_id("msg"),
            "type": "message",
            "status": "in_progress",
            "role": "assistant",
            "content": [],
        }
        self._message, frame = self._begin(item, "content_index")
        part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        index = self._message.index
        return (
            frames
            + frame
            + self._item_event("content_part.added", index, item, content_index=0, part=part)
        )

    def _end_message(
        self, cited: Sequence[dict[str, Any]] = (), status: str = "completed"
    ) -> bytes:
        if (message := self._message) is None:
            return b""
        self._message = None
        index, item = message.index, message.item
        text, logprobs = "".join(message.texts), message.logprobs
        part = {
            "type": "output_text",
            "text": text,
            "annotations": list(cited),
            "logprobs": logprobs,
        }
        item |= {"status": status, "content": [part]}
        frames = [
            self._item_event(
                "output_text.annotation.added",
                index,
                item,
                content_index=0,
                annotation_index=number,
                annotation=each,
            )
            for number, each in enumerate(cited)
        ]
        done = {"content_index": 0, "text": text, "logprobs": logprobs}
        frames.append(self._item_event("output_text.done", index, item, **done))
        frames.append(
            self._item_event("content_part.done", index, item, content_index=0, part=part)
        )
        return b"".join([*frames, self._item_done(index, item)])

    def _reasoning(self, text: str, more: bytes = b"") -> bytes:
        frames = self._end_progress() + self._end_message()
        if (thought := self._thought) is None:
            item = reasoning_item()
            thought, frame = self._begin(item, "summary_index")
            self._thought = thought
            part = {"type": "summary_text", "text": ""}
            frames += frame + self._item_event(
                "reasoning_summary_part.added", thought.index, item, summary_index=0, part=part
            )
        thought.texts.append(text)
        delta = thought.about + escaped(text)
        frames += self._frame("response.reasoning_summary_text.delta", delta)
        return frames + self._note(more) if more else frames

    def _end_thought(self) -> bytes:
        if (thought := self._thought) is None:
            return b""
        self._thought = None
        index, item = thought.index, thought.item
        text = "".join(thought.texts)
        part = {"type": "summary_text", "text": text}
        item |= {"status": "completed", "summary": [part]}
        frames = self._item_event(
            "reasoning_summary_text.done", index, item, summary_index=0, text=text
        ) + self._item_event("reasoning_summary_part.done", index, item, summary_index=0, part=part)
        if self._form.seal is not None:
            self._held.append((index, item))
            return frames
        return frames + self._item_done(index, item)

    def _end_texts(self) -> bytes:
        return self._end_message() + self._end_thought()


def _logprobs(text: str) -> list[dict[str, Any]]:
    """Return log probabilities of a provider, of which each has the bytes of its token."""
    content = members(text).get("content")
    entries = [each for each in content or () if isinstance(each, dict)]
    for entry in entries:
        entry["top_logprobs"] = top = entry.get("top_logprobs") or []
        for each in (entry, *top):
            each["bytes"] = each.get("bytes") or list(str(each.get("token", "")).encode())
    return entries
