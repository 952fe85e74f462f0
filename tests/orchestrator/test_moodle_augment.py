"""The prompt processor `moodle_augment`: when it has a tool fill `{moodle_user}`, and when not."""

import pytest
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_orchestrator.prompts.moodle_augment import MoodleAugment
from orchestrator.harness import Harness, ask, assistant, tool

TEMPLATE = "Who: {moodle_user} Asks: {user_input} Knows: {context}"


def augmented(*tools: pb.ToolBinding, template: str = TEMPLATE) -> pb.Assistant:
    created = assistant(*tools, template=template)
    created.prompt_processor = "moodle_augment"
    return created


def bindings(*tools: pb.ToolBinding, template: str = TEMPLATE) -> list[str]:
    original = augmented(*tools, template=template)
    before = original.SerializeToString()
    equipped = MoodleAugment().equipped(original)
    assert original.SerializeToString() == before
    return [binding.tool for binding in equipped.tools]


async def test_its_three_placeholders_are_filled(harness: Harness) -> None:
    await harness.events(ask(augmented(tool("docs", "context", text="A shed is a gap."))))

    [run] = harness.tools.seen
    assert [(each.name, each.slot) for each in run.invocations] == [
        ("docs", "context"),
        ("moodle_user", "moodle_user"),
    ]
    # The scripted tool finds nothing about anybody; the other two slots have their text.
    assert harness.connector.seen[-1].messages[-1].parts[0].text == (
        "Who:  Asks: \n\nWhy?\n\n Knows: \n\nA shed is a gap.\n\n"
    )


async def test_without_the_placeholder_nobody_is_looked_up(harness: Harness) -> None:
    await harness.events(ask(augmented(template="{user_input} {{moodle}} moodle_user")))
    assert not harness.tools.seen
    assert harness.connector.seen


async def test_other_prompt_processors_have_no_such_placeholder(harness: Harness) -> None:
    await harness.events(ask(assistant(template=TEMPLATE)))
    assert not harness.tools.seen


async def test_what_a_person_writes_is_not_looked_at(harness: Harness) -> None:
    await harness.events(ask(augmented(template="{user_input}"), "Who is {moodle_user}?"))
    assert not harness.tools.seen
    assert "{moodle_user}" in harness.connector.seen[-1].messages[-1].parts[0].text


def test_a_tool_that_its_author_bound_there_is_enough() -> None:
    assert bindings(tool("moodle_user")) == ["moodle_user"]
    assert bindings(tool("roster", "moodle_user")) == ["roster"]


@pytest.mark.parametrize(
    "idle",
    [
        pb.ToolBinding(tool="moodle_user", disabled=True),
        pb.ToolBinding(tool="moodle_user", mode=pb.MODE_FUNCTION),
        pb.ToolBinding(tool="moodle_user", slot="elsewhere"),
    ],
    ids=["disabled", "for the model", "another slot"],
)
async def test_a_binding_that_does_not_fill_it_is_not(
    harness: Harness, idle: pb.ToolBinding
) -> None:
    assert bindings(idle) == ["moodle_user", "moodle_user"]

    await harness.events(ask(augmented(idle)))

    [run] = harness.tools.seen
    assert run.invocations[-1].slot == "moodle_user"
    assert len({each.id for each in run.invocations}) == len(run.invocations)
