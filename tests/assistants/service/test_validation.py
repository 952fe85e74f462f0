"""Assistants that are wrong: each fault is named, and nothing is kept."""

import pytest
from assistants.serving import ADA, ADMIN, MODEL, Service
from google.protobuf.duration_pb2 import Duration
from google.protobuf.struct_pb2 import Struct, Value
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_runtime.errors import InvalidRequestError

DEEP = "[" * 40 + "]" * 40


def with_tool(**members: object) -> dict[str, object]:
    return {"tools": [pb.ToolBinding(tool="weather", **members)]}  # type: ignore[arg-type] # any member


WRONG: dict[str, tuple[str, dict[str, object]]] = {
    "no name": ("assistant.name", {"name": ""}),
    "a space": ("assistant.name", {"name": "my tutor"}),
    "a first dash": ("assistant.name", {"name": "-a"}),
    "a long name": ("assistant.name", {"name": "a" * 129}),
    "a foreign letter": ("assistant.name", {"name": "tütor"}),
    "a line end": ("assistant.name", {"name": "tutor\n"}),
    "NUL": ("assistant.description", {"description": "a\0b"}),
    "NUL in a title": ("assistant.title", {"title": "a\0b"}),
    "no connector": ("assistant.model.connector", {"model": pb.ModelRef(model="m")}),
    "no model": ("assistant.model.model", {"model": None}),
    "a blank model": ("assistant.model.model", {"model": pb.ModelRef(connector="c", model=" ")}),
    "many tools": ("assistant.tools", {"tools": [pb.ToolBinding(tool="weather")] * 65}),
    "no tool": ("assistant.tools[0].tool", {"tools": [pb.ToolBinding()]}),
    "equal ids": ("assistant.tools[0].id", {"tools": [pb.ToolBinding(tool="a", id="x")] * 2}),
    "the user's slot": ("assistant.tools[0].slot", with_tool(slot="user_input")),
    "a number as slot": ("assistant.tools[0].slot", with_tool(slot="12_3")),
    "a dash in a slot": ("assistant.tools[0].slot", with_tool(slot="a-b")),
    "a long slot": ("assistant.tools[0].slot", with_tool(slot="a" * 64)),
    "an unknown mode": ("assistant.tools[0].mode", with_tool(mode=9)),
    "an unknown policy": ("assistant.tools[0].on_failure", with_tool(on_failure=9)),
    "no time": ("assistant.tools[0].timeout", with_tool(timeout=Duration())),
    "two days": ("assistant.tools[0].timeout", with_tool(timeout=Duration(seconds=172_800))),
    "no number": (
        "assistant.tools[0].config",
        with_tool(config=Struct(fields={"x": Value(number_value=float("nan"))})),
    ),
    "odd extra": ("assistant.extra_json", {"extra_json": "[1]"}),
    "deep extra": ("assistant.extra_json", {"extra_json": f'{{"a": {DEEP}}}'}),
    "odd extra of a tool": ("assistant.extra_json", with_tool(extra_json="not-json{")),
    "another version": ("assistant.extra_json", {"extra_json": '{"_format_version": 9}'}),
    "the deleted owner": ("assistant.owner", {"owner": "deleted_assistant@owi.com"}),
    "a long owner": ("assistant.owner", {"owner": "a" * 321}),
}


async def test_each_fault_is_named_and_nothing_is_kept(
    embedded: Service, subtests: pytest.Subtests
) -> None:
    caller = embedded.as_(ADMIN)
    made = await caller.create("good")
    for fault, (field, members) in WRONG.items():
        with subtests.test(fault):
            assistant = pb.Assistant(**{"name": "tutor", "model": MODEL} | members)  # type: ignore[arg-type] # any member
            create = pb.CreateAssistantRequest(assistant=assistant)
            with pytest.raises(InvalidRequestError) as refused:
                await caller.ask(caller.assistants.CreateAssistant, create)
            assert field in {violation.field for violation in refused.value.violations}

            assistant.id = made.assistant.id
            if "owner" not in members:  # which an update does not look at
                with pytest.raises(InvalidRequestError):
                    await caller.update(assistant)
    assert await caller.get("1") == await caller.get("good")
    assert (await caller.get("1")).etag == made.etag
    assert len(await caller.listed(selection=pb.SELECTION_MANAGED)) == 1


@pytest.mark.parametrize("slot", ["a", "1_context", "Context", "a" * 63])
async def test_slots_that_templates_can_name_are_taken(embedded: Service, slot: str) -> None:
    made = await embedded.as_(ADA).create("tutor", **with_tool(slot=slot))
    assert [tool.slot for tool in made.assistant.tools] == [slot]


async def test_an_update_says_which_assistant(embedded: Service) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        await embedded.as_(ADA).update(pb.Assistant(name="tutor", model=MODEL))
    assert [violation.field for violation in refused.value.violations] == ["assistant.id"]
