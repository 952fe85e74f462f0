"""The `bypass` connector shows prompts, byte for byte."""

from pathlib import Path

import pytest
from heddle.chat.v1 import chat_pb2 as chat
from heddle.connector.v1 import connector_pb2 as pb
from heddle_connector.connectors.bypass import _pieces
from heddle_runtime.errors import NotFoundError
from hypothesis import given
from hypothesis import strategies as st

from connector.service import answer, as_whole, asked, batches, events, failure, said, service

GOLDEN = Path(__file__).parent / "golden"
CONVERSATION = [
    said("You are a tutor.", chat.ROLE_SYSTEM),
    said("Hello"),
    said("Hello! How can I help?", chat.ROLE_ASSISTANT),
    chat.Message(
        role=chat.ROLE_USER,
        parts=[
            chat.ContentPart(text="Keep  my\tspaces,\n\n  {braces} and lines. é🧵 "),
            chat.ContentPart(image=chat.Media(data=b"PNG", media_type="image/png")),
        ],
    ),
]


def request(model: str, **fields: bool) -> pb.GenerateMessageRequest:
    options = chat.GenerationOptions(temperature=0.5, extra_json='{"top_k":3}')
    return asked("bypass", model, CONVERSATION, options=options, **fields)


@pytest.mark.parametrize("model", ["debug-bypass", "simple-bypass", "full-conversation-bypass"])
async def test_each_view_of_a_prompt_is_as_agreed(model: str) -> None:
    """E03."""
    expected = (GOLDEN / f"{model}.txt").read_bytes().decode()
    async with service() as stub:
        found = await events(stub, request(model))
        whole = await batches(stub, as_whole(request(model)))
    assert answer(found) == expected
    assert found[-1].done == chat.Done(
        finish_reason=chat.FINISH_REASON_STOP, usage=chat.Usage(), model=model
    )
    assert found[-1].done.HasField("usage")
    assert len(whole) == 1
    if model != "debug-bypass":  # which shows whether the answer would be streamed
        assert answer(whole[0]) == expected


async def test_a_stream_puts_every_byte_together_again() -> None:
    text = "  two  spaces\ttab\r\nCRLF\n\n\u2028{x}\x00 end \n" * 20
    async with service() as stub:
        found = await batches(stub, asked("bypass", "simple-bypass", [said(text)]))
    assert len(found) > 10
    assert "".join(answer(batch) for batch in found) == text


@given(st.text(max_size=2000))
def test_no_text_changes_when_it_is_cut_into_pieces(text: str) -> None:
    pieces = _pieces(text)
    assert "".join(pieces) == text
    assert len(pieces) <= 32


async def test_an_unknown_view_is_not_found_and_the_known_ones_are_named() -> None:
    async with service() as stub:
        error = await failure(stub, asked("bypass", "gpt-4"))
    assert type(error) is NotFoundError
    assert "debug-bypass, simple-bypass, full-conversation-bypass" in error.message
