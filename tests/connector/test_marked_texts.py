"""Generated texts with reasoning and calls: streamed and whole answers agree, and nothing is lost.

The texts go through the reader of OpenAI's format and the reader of the model's text, as in the
service. Each character of their words occurs once, so that each one can be found again.
"""

import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from heddle.chat.v1 import chat_pb2 as chat
from heddle.connector.v1 import connector_pb2 as pb
from heddle_connector.completion.reader import CompletionReader
from heddle_connector.connectors.openai import OpenAi
from heddle_connector.generation.call import Call
from heddle_connector.generation.events import (
    AnswerWarning,
    Done,
    Event,
    ReasoningDelta,
    TextDelta,
    ToolCall,
)
from heddle_connector.generation.model_text import ToolCallParsers
from heddle_connector.sdk.testing.runner import make_call
from heddle_connector.toolcalls.delimiters import MIN_CUT_OFF_LENGTH
from runtime.examples import sampled
from structlog.testing import capture_logs

from connector.provider import DONE, Exchange, chunk
from connector.provider import text as text_chunk
from connector.service import as_whole, asked, events, openai_at, said
from connector.toolcalls.formats import FUNCTIONS, WRITINGS, Writing

TEXTS = 10_000
SHARDS = 200
PER_SHARD = TEXTS // SHARDS
WORDS = [
    chr(code) for code in (*range(0x4E00, 0x4F40), *range(0x1F600, 0x1F640), *range(0xC0, 0xF7))
]
BROKEN = (
    '<tool_call>{{"name": "get_weather", "arguments": {{city: "{}"}}}}</tool_call>',
    "<function=get_weather>{}</function>\n",
    "<tool_call>{}</tool_call>",
    "[TOOL_CALLS]get_weather[ARGS]{{{}}}\n",
    "<seed:tool_call>\n{}\n</seed:tool_call>",
    "<｜tool▁calls▁begin｜>{}<｜tool▁calls▁end｜>",
    "<think>{}<think>{}</think>{}</think>\n",
    "<think>{}</think></think>\n",
    "</think>{}",
    "<|channel|>commentary to=get_weather<|message|>{}<|call|>",
)
EXAMPLES = (
    "```xml\n<tool_call>{}</tool_call>\n```\n",
    "````\n```\n<think>{}</think>\n````\n",
    "`<think>{}</think>`",
    '"<think>{}</think>"',
    "The <tool_call> tag: {}.\n",
)
NOISE = ("<", ">", "{", "}", "[", "]", '"', "`", "\n", "</", "<think>", "</think>", "<tool_call>")


@dataclass(frozen=True)
class Answer:
    """What a client reads."""

    text: str
    reasoning: str
    calls: list[tuple[str, Any]]
    finish: str
    warnings: list[str]

    def words(self) -> Counter[str]:
        calls = json.dumps(self.calls, ensure_ascii=False)
        return words_of(self.text + self.reasoning + calls)


def words_of(text: str) -> Counter[str]:
    return Counter(character for character in text if character in KNOWN)


KNOWN = frozenset(WORDS)


class Texts:
    """Generates texts, the same for each number."""

    def __init__(self, number: int) -> None:
        self._chance = random.Random(number)  # noqa: S311 - the same texts each time
        self._words = self._chance.sample(WORDS, len(WORDS))

    def text(self) -> str:
        chance = self._chance
        parts = [self._part() for _ in range(chance.choice((1, 1, 2)))]
        if chance.random() < 0.3:
            parts.insert(0, f"<think>\n{self._phrase()}\n</think>\n\n")
        text = chance.choice(("", "\n")).join(parts)
        for _ in range(chance.choice((0, 0, 0, 1, 2))):
            text = self._damaged(text)
        return text

    def _part(self) -> str:
        chance = self._chance
        kind = chance.random()
        if kind < 0.25:
            return self._phrase()
        if kind < 0.7:
            writing = chance.choice(WRITINGS)
            calls = [("get_weather", {"city": self._phrase(), "days": 2})]
            if chance.random() < 0.1:
                calls.append(("note.add", {"text": self._phrase()}))
            return writing.message(*calls)
        pattern = chance.choice(BROKEN if kind < 0.85 else EXAMPLES)
        return pattern.format(*(self._phrase() for _ in range(3)))

    def _phrase(self) -> str:
        length = self._chance.randint(1, 3)
        phrase, self._words = self._words[:length], self._words[length:]
        return self._chance.choice(("", " ", "\n")).join(phrase) + self._chance.choice(
            ("", ".", "?")
        )

    def _damaged(self, text: str) -> str:
        """Lose, or add, a few characters that are not words."""
        at = self._chance.randint(0, len(text))
        if self._chance.random() < 0.5:
            return text[:at] + self._chance.choice(NOISE) + text[at:]
        end = at + self._chance.randint(1, 6)
        return text[:at] + "".join(c for c in text[at:end] if c in KNOWN) + text[end:]

    def pieces(self, text: str) -> list[str]:
        """Return the text in pieces of random lengths."""
        cuts = sorted(self._chance.sample(range(len(text) + 1), min(5, len(text) + 1)))
        return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


class Client:
    """Reads answers as the service does, to a request with or without tools."""

    def __init__(self, folder: Path, tools: Sequence[Any]) -> None:
        members = {"tools": [{"type": "function", "function": each} for each in tools]}
        self._call: Call = make_call(OpenAi, "?", "m", folder, members=members if tools else {})
        self._calls = bool(tools)

    def streamed(self, pieces: Iterable[str], finish: str) -> Answer:
        reader = CompletionReader(calls=self._calls)
        text = ToolCallParsers({}).reader(self._call)
        read: list[Event] = []
        for piece in pieces:
            read += text.take(reader.read([_chunk({"content": piece}, None)]))
        read += text.take(reader.end([_chunk({}, finish)]))
        reader.check()
        return _answer(read)

    def whole(self, words: str, finish: str) -> Answer:
        choice = {"index": 0, "message": {"content": words}, "finish_reason": finish}
        body = msgspec.json.encode({"choices": [choice]})
        text = ToolCallParsers({}).reader(self._call)
        return _answer(text.take(CompletionReader(calls=self._calls).whole(body)))


def _chunk(delta: dict[str, str], finish: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return msgspec.json.encode({"choices": [choice]})


def _answer(read: Sequence[Event]) -> Answer:
    [done] = [event for event in read if isinstance(event, Done)]
    assert read[-1] is done
    return Answer(
        "".join(event.text for event in read if isinstance(event, TextDelta)),
        "".join(event.text for event in read if isinstance(event, ReasoningDelta)),
        [(e.name, json.loads(e.arguments)) for e in read if isinstance(e, ToolCall)],
        done.finish_reason,
        [event.text for event in read if isinstance(event, AnswerWarning)],
    )


def texts(shard: int) -> Iterator[tuple[Texts, str]]:
    for number in range(shard * PER_SHARD, (shard + 1) * PER_SHARD):
        generator = Texts(number)
        yield generator, generator.text()


@pytest.mark.parametrize("shard", sampled(range(SHARDS), 1))
def test_streamed_is_whole_wherever_a_text_is_cut_and_no_character_is_lost(
    tmp_path: Path, shard: int
) -> None:
    clients = Client(tmp_path, FUNCTIONS), Client(tmp_path, ())
    with capture_logs():  # one line for each call that is cut off
        for number, (generator, text) in enumerate(texts(shard)):
            client = clients[number % 5 == 0]
            answer = client.whole(text, "stop")
            assert answer.words() == words_of(text), text
            assert client.streamed(text, "stop") == answer, text
            for at in range(len(text) + 1):
                beginning = text[:at]
                assert client.streamed((beginning, text[at:]), "stop") == answer, (text, at)
                cut_off = client.whole(beginning, "length")
                assert cut_off.words() == words_of(beginning), beginning
                assert client.streamed(generator.pieces(beginning), "length") == cut_off, beginning


@pytest.mark.parametrize(
    "writing",
    # The call of inkling begins with the frame of a message, which is no text.
    [each for each in WRITINGS if not each.alone and each.id != "inkling"],
    ids=lambda each: each.id,
)
def test_a_call_that_is_cut_off_anywhere_is_text_with_a_warning(
    tmp_path: Path, writing: Writing
) -> None:
    client = Client(tmp_path, FUNCTIONS)
    text = writing.message(("get_weather", {"city": WORDS[0], "days": 2}))
    complete = client.whole(text, "stop")
    assert (len(complete.calls), complete.text, complete.warnings) == (1, "", [])
    first = max(len(writing.begin), MIN_CUT_OFF_LENGTH) if is_delimited(writing) else len(text)
    with capture_logs():
        for at in range(1, len(text)):
            cut_off = client.whole(text[:at], "stop")
            if cut_off.calls:
                assert (cut_off.finish, cut_off.warnings) == ("tool_calls", [])
                continue
            assert cut_off.text == text[:at]
            assert cut_off.finish == ("length" if cut_off.warnings else "stop")
            assert len(cut_off.warnings) == 1 or at < first


def is_delimited(writing: Writing) -> bool:
    """Whether the text of a call begins with a delimiter."""
    return writing.message(("f", {}))[0] in "<[]" and not writing.id.startswith(
        ("xlam", "llama_pythonic")
    )


async def test_the_service_streams_what_it_returns_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    functions = [
        chat.FunctionDeclaration(
            name=each["name"], parameters_schema_json=json.dumps(each["parameters"])
        )
        for each in FUNCTIONS
    ]

    async def script(exchange: Exchange) -> None:
        words = exchange.json["messages"][-1]["content"]
        if exchange.json.get("stream"):
            await exchange.stream(*map(text_chunk, words), chunk({}, "stop"), DONE)
            return
        choice = {"index": 0, "message": {"content": words}, "finish_reason": "stop"}
        await exchange.reply(200, json.dumps({"model": "gpt-x", "choices": [choice]}))

    async with openai_at(script, monkeypatch) as (stub, _):
        for number in range(12):
            text = Texts(number).text()[:120]
            request = asked(functions=functions, messages=[said(text)])
            answers = [_summary(await events(stub, each)) for each in (request, as_whole(request))]
            assert answers[0] == answers[1], text


def _summary(events: Sequence[pb.GenerationEvent]) -> tuple[object, ...]:
    calls = [(e.tool_call.name, e.tool_call.arguments_json) for e in events]
    return (
        "".join(event.text_delta for event in events),
        "".join(event.reasoning_delta for event in events),
        [call for call in calls if call[0]],
        [event.warning for event in events if event.warning],
        events[-1].done.finish_reason,
    )
