"""Unusual templates of LAMB reach the model as LAMB would send them, byte for byte."""

import json
from typing import Any

import grpc
import pytest
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.tool.v1 import tool_pb2
from heddle_conversion import LegacyColumns, StoredColumns, convert, parse, to_contract
from heddle_orchestrator.prompts.slots import all_citations
from heddle_runtime.contract.struct_codec import to_struct
from orchestrator.harness import Harness, ask

QUESTION = "What is $x^{2}$ in {1,2}?"
PASSAGE = "A shed is {a gap} in `f'{warp}'`."
SOURCES = ["loom.pdf", "warp.md"]
SIMPLE = {"prompt_processor": "simple_augment", "connector": "openai", "llm": "gpt-4o-mini"}
TEMPLATES = [
    r"Solve \frac{a}{b} = \sqrt{c}: {user_input}",
    r"\begin{align}{x}&=1\end{align}{context}{user_input}",
    "Dear {name}, {user_input}",
    "{{user}}: {user_input}",
    "{{user_input}}",
    "{{{context}}} {{{user_input}}}",
    '{"answer": {"text": "{user_input}"}, "n": {"context": 1}}',
    "```json\n{context}\n```\n{user_input}",
    "{User_Input} {CONTEXT} {user_input}",
    "{ user_input } { context }",
    "{user_input}{user_input}",
    "{context}{context}",
    "No name at all, only {braces} and {}",
    "{% if context %}{{ context }}{% endif %} {user_input}",
    "$$\\int_{0}^{1} f(x)\\,dx$$ — {user_input} ✎ {contexto}",
    "#{user_input} ${context} %(user_input)s %{context}",
    "{user_input}\r\n\t{context}\0x",
    "{0} {1:>10} {user_input!r} {context.text} {user_input}",
    "{rubric} {file} {moodle_user} {document} {user_input}",
    "{user_input" + "}" * 7 + " {context",
    "<<{context}>>\n\n\n\n{user_input}\n",
    "def f(x): return {k: v for k, v in {context}.items()}  # {user_input}",
]


def lamb_prompt(template: str, question: str, context: str | None, sources: list[str]) -> str:
    """Return the last message that LAMB's `simple_augment` would send.

    The question here has no `{context}`, which LAMB would replace and Heddle does not.
    """
    listed = "".join(
        f"{number}. [{title}](https://example.org/{title}) (similarity: 0.500)\n"
        for number, title in enumerate(sources, start=1)
    )
    cited = f"\n\n## Available Sources\n\n{listed}" if listed else ""
    inserted = "" if context is None else f"\n\n{context}{cited}\n\n"
    return template.replace("{user_input}", f"\n\n{question}\n\n").replace("{context}", inserted)


def imported(template: str, metadata: dict[str, Any]) -> pb.Assistant:
    """Return the assistant that a row of LAMB becomes."""
    conversion = convert(parse(json.dumps(metadata)), LegacyColumns(3, "1"))
    return to_contract(conversion.metadata, StoredColumns(7, prompt_template=template))


async def sent(harness: Harness, assistant: pb.Assistant) -> str:
    await harness.events(ask(assistant, QUESTION))
    [message] = harness.connector.seen[-1].messages
    [part] = message.parts
    return part.text


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("sources", [[], SOURCES], ids=["without sources", "with sources"])
async def test_a_template_with_a_processor_is_filled_as_lamb_does(
    harness: Harness, template: str, sources: list[str]
) -> None:
    assistant = imported(template, {**SIMPLE, "rag_processor": "simple_rag"})
    assistant.tools[0].config.CopyFrom(to_struct({"text": PASSAGE, "sources": sources}))

    assert await sent(harness, assistant) == lamb_prompt(template, QUESTION, PASSAGE, sources)


@pytest.mark.parametrize("template", TEMPLATES)
async def test_a_template_without_a_processor_is_filled_as_lamb_does(
    harness: Harness, template: str
) -> None:
    assistant = imported(template, {**SIMPLE, "rag_processor": "no_rag"})

    assert await sent(harness, assistant) == lamb_prompt(template, QUESTION, "", [])


async def test_the_name_of_a_tool_with_another_slot_is_text(harness: Harness) -> None:
    template = "{user_input}{rubric}{context}"
    assistant = imported(template, {**SIMPLE, "rag_processor": "rubric_rag"})
    assistant.tools[0].config.CopyFrom(to_struct({"text": PASSAGE}))

    assert await sent(harness, assistant) == lamb_prompt(template, QUESTION, PASSAGE, [])


def test_files_and_rubrics_are_listed_without_an_address_as_lamb_does() -> None:
    sources = [
        tool_pb2.Source(title="1/notes.md", kind="file", score=0.9),
        tool_pb2.Source(title="Essay 1/2", kind="rubric"),
    ]

    assert all_citations(sources) == (
        "\n\n## Available Sources\n\n1. [notes.md]() (similarity: 0.000)\n"
        "2. [Essay 1/2]() (similarity: 0.000)\n"
    )


async def test_results_without_a_place_in_the_template_are_left_out_without_a_note(
    harness: Harness,
) -> None:
    assistant = imported("{user_input}", {**SIMPLE, "rag_processor": "simple_rag"})
    assistant.tools[0].config.CopyFrom(to_struct({"text": PASSAGE}))

    assert await sent(harness, assistant) == lamb_prompt("{user_input}", QUESTION, PASSAGE, [])


async def test_the_slots_of_further_tools_are_names_and_other_names_are_text(
    harness: Harness,
) -> None:
    tools = [{"plugin": "simple_rag", "placeholder": "1_context", "enabled": True, "config": {}}]
    template = "{1_context}|{2_context}|{user_input}"
    assistant = imported(template, {**SIMPLE, "tools": tools})
    assistant.tools[0].config.CopyFrom(to_struct({"text": PASSAGE}))

    expected = f"\n\n{PASSAGE}\n\n|{{2_context}}|\n\n{QUESTION}\n\n"
    assert await sent(harness, assistant) == expected


@pytest.mark.parametrize("others", [[], [{"type": "simple_rag", "slot": "context"}]])
async def test_the_placeholder_of_a_disabled_tool_is_removed(
    harness: Harness, others: list[dict[str, Any]]
) -> None:
    harness.tools.catalog = [tool_pb2.Tool(name="single_file", default_slot="file")]
    tools = [{"type": "single_file", "enabled": False, "config": {}}, *others]
    assistant = imported("{file}|{files}|{user_input}", {**SIMPLE, "tools": tools})

    assert await sent(harness, assistant) == f"\n\n\n\n|{{files}}|\n\n{QUESTION}\n\n"


DOCUMENT = "# Rules\n{user_input} stays."
BEFORE = (
    "\n\n## REFERENCE DOCUMENT\n\nThis document has been selected by the assistant creator as a "
    "reference that will likely be useful for many queries, as it is generally a helpful document. "
    "Use it as context when answering questions.\n\n"
)
AFTER = (
    "\n\nIMPORTANT: The reference document above is available for this entire conversation. Always "
    "consider it alongside any retrieved context when answering questions. If the user's question "
    "relates to the document's content, use it."
)
NEWEST = {
    **SIMPLE,
    "prompt_processor": "kvcache_augment",
    "document_rag": "library_file_rag",
    "library_id": "lib-1",
    "item_id": "item-2",
}


def with_texts(assistant: pb.Assistant, *sources: str) -> pb.Assistant:
    """Return an assistant of LAMB's newest format, whose tools return texts."""
    for binding in assistant.tools:
        is_document = binding.slot == "document"
        text = DOCUMENT if is_document else PASSAGE
        listed = [] if is_document else sources
        binding.config.CopyFrom(to_struct({"text": text, "sources": listed}))
    return assistant


@pytest.mark.parametrize("system", ["", "You help. {document}"])
async def test_a_reference_document_comes_before_the_system_prompt_as_in_lamb(
    harness: Harness, system: str
) -> None:
    template = "{document} {context} {user_input}"
    metadata = {**NEWEST, "rag_processor": "knowledge_store_rag"}
    assistant = with_texts(imported(template, metadata), *SOURCES)
    assistant.system_prompt = system

    await harness.events(ask(assistant, QUESTION))

    first, question = harness.connector.seen[-1].messages
    labelled = f"{BEFORE}{DOCUMENT}{AFTER}"
    assert first.parts[0].text == (f"{labelled}\n\n{system}" if system else labelled)
    assert question.parts[0].text == lamb_prompt(template, QUESTION, PASSAGE, SOURCES)


async def test_without_a_template_passages_come_in_the_default_one_of_lamb(
    harness: Harness,
) -> None:
    metadata = {**NEWEST, "rag_processor": "query_rewriting_ks_rag"}
    assistant = with_texts(imported("", metadata), *SOURCES)

    await harness.events(ask(assistant, QUESTION))

    assert harness.connector.seen[-1].messages[-1].parts[0].text == (
        "Use the following context to answer the question. If the context does not contain the "
        f"answer, say you do not know.\n\nContext:\n\n\n{PASSAGE}\n\n\n\nQuestion: "
        f"\n\n{QUESTION}\n\n"
    )


async def test_without_a_template_and_passages_the_question_is_sent_as_it_is(
    harness: Harness,
) -> None:
    assistant = with_texts(imported("", {**NEWEST, "rag_processor": "no_rag"}))

    await harness.events(ask(assistant, QUESTION))

    assert harness.connector.seen[-1].messages[-1].parts[0].text == QUESTION


async def test_without_its_document_an_assistant_does_not_answer_as_in_lamb(
    harness: Harness,
) -> None:
    assistant = imported("{user_input}", NEWEST)
    assistant.tools[0].config.CopyFrom(to_struct({"fail": True}))

    with pytest.raises(grpc.aio.AioRpcError, match="The library is closed"):
        await harness.events(ask(assistant, QUESTION))
