"""What tools that look things up tell the routing agent, and when there is a page to look at."""

import json

import pytest
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_tools_service.capabilities.web_search import WebAnswer, WebResult
from heddle_tools_service.sdk import Environment, Tool, ToolObjects, TreeData
from heddle_tools_service.testing import ScriptedPages, ScriptedPassages
from heddle_tools_service.tools.colqwen_search import colqwen_search
from heddle_tools_service.tools.fast_vector_search import fast_vector_search
from heddle_tools_service.tools.hybrid_search import hybrid_search
from heddle_tools_service.tools.retrieve_documents import retrieve_documents
from heddle_tools_service.tools.visual_interpretation import visual_interpretation
from heddle_tools_service.tools.web_search import web_search
from tools_service.neighbours import page, passage, run_tool
from tools_service.serving import said, serving_tools

QUERY = {"query": "amplifier"}


class KnownWeb:
    """A web that has one answer."""

    async def search(self, *_: object, **__: object) -> WebAnswer:
        return WebAnswer("tavily", "A part.", (WebResult("Parts", "http://w/", "An amplifier."),))


async def found(tool: Tool, pages: ScriptedPages | None = None) -> ToolObjects:
    """Return what a search leaves in the environment of a run."""
    config = {"collections": ["kb-1"]} if tool is retrieve_documents else {}
    told = await run_tool(
        tool,
        config,
        QUERY,
        passages=ScriptedPassages([passage("An amplifier.")]),
        pages=pages or ScriptedPages([page(4), page(36, score=0.95)]),
        web=KnownWeb(),
    )
    made = told.result
    return ToolObjects(
        tool.name, made.name, tuple(map(dict, made.objects)), made.metadata, made.message
    )


@pytest.mark.parametrize(
    ("tool", "name", "message"),
    [
        (fast_vector_search, "AssetManual", "Found 1 text results for 'amplifier'"),
        (colqwen_search, "colqwen_search", "Found 2 pages for 'amplifier'"),
        (hybrid_search, "hybrid_search", "Found 1 text results and 2 pages for 'amplifier'"),
        (retrieve_documents, "kb-1", "Found 1 passages for 'amplifier'"),
        (web_search, "web", "Found 1 web pages for 'amplifier'"),
    ],
)
async def test_a_search_tells_its_objects_their_name_and_a_message(
    tool: Tool, name: str, message: str
) -> None:
    left = await found(tool)
    assert (left.name, left.message) == (name, message)
    texts = [each.get(key) for each in left.objects for key in ("text", "snippet")]
    assert ("An amplifier." in texts) == (tool is not colqwen_search)


async def test_text_and_pages_of_a_search_for_both_can_be_told_apart() -> None:
    left = await found(hybrid_search)
    assert [(each.get("kind", "text"), each["page"]) for each in left.objects] == [
        ("text", 1),
        ("page", 4),
        ("page", 36),
    ]


async def assessed(*earlier: ToolObjects, prompt: str = "What does it show?") -> tuple[bool, str]:
    """Return whether the agent may choose to look at a page now, and why not."""
    context = said(prompt)
    context.tree.user_prompt = prompt
    for each in earlier:
        objects = map(json.dumps, each.objects)
        context.tree.environment.findings.add(tool=each.tool, name=each.name, objects_json=objects)
    look = pb.ToolInvocation(id="1", name=visual_interpretation.name)
    request = pb.AssessToolsRequest(invocations=[look], context=context)
    async with serving_tools(visual_interpretation) as client:
        response = await client.stub.AssessTools(request, **new_call_options(10))
    (told,) = response.assessments
    return told.available, told.reason


@pytest.mark.parametrize("tool", [colqwen_search, hybrid_search])
async def test_there_is_a_page_to_look_at_only_after_one_was_found(tool: Tool) -> None:
    nothing = await found(tool, ScriptedPages())
    passages = await found(fast_vector_search)
    assert await assessed(nothing, passages) == (False, "No page was found yet to look at.")
    assert await assessed(await found(tool)) == (True, "")


async def test_a_run_without_words_waits_for_a_page_too() -> None:
    assert await assessed(prompt="") == (False, "No page was found yet to look at.")


async def test_a_model_is_offered_the_function_before_anything_was_asked() -> None:
    look = pb.ToolInvocation(id="1", name=visual_interpretation.name)
    async with serving_tools(visual_interpretation) as client:
        request = pb.ListFunctionsRequest(invocations=[look])
        offered = await client.stub.ListFunctions(request, **new_call_options(10))
    assert [each.name for each in offered.functions[0].functions] == ["visual_interpretation"]


async def test_the_best_page_that_the_agent_found_is_looked_at() -> None:
    pages = ScriptedPages([page(4), page(36, score=0.95)])
    tree = TreeData("What does it show?", 1, Environment((await found(colqwen_search, pages),)))
    looked = await run_tool(
        visual_interpretation, {}, {}, query="What does it show?", pages=pages, tree=tree
    )
    assert looked.result.objects == [
        {
            "interpretation": "Seen on 36: What does it show?",
            "page": 36,
            "image_path": "/v1/vector_stores/vs_1/files/doc_1/pages/36",
            "title": "Manual",
        }
    ]
