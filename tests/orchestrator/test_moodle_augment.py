"""The prompt processor `moodle_augment`: when it has a tool fill `{moodle_user}`, and when not."""

import pytest
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_orchestrator.prompts.moodle_augment import MoodleAugment
from orchestrator.bench import Bench, ask, assistant, tool

TEMPLATE = "Who: {moodle_user} Asks: {user_input} Knows: {context}"


def augmented(*tools: pb.ToolBinding, template: str = TEMPLATE) -> pb.Assistant:
    made = assistant(*tools, template=template)
    made.prompt_processor = "moodle_augment"
    return made


def bindings(*tools: pb.ToolBinding, template: str = TEMPLATE) -> list[str]:
    given = augmented(*tools, template=template)
    before = given.SerializeToString()
    equipped = MoodleAugment().equipped(given)
    assert given.SerializeToString() == before
    return [binding.tool for binding in equipped.tools]


async def test_its_three_placeholders_are_filled(bench: Bench) -> None:
    await bench.events(ask(augmented(tool("docs", "context", text="A shed is a gap."))))

    [run] = bench.tools.seen
    assert [(each.name, each.slot) for each in run.invocations] == [
        ("docs", "context"),
        ("moodle_user", "moodle_user"),
    ]
    # The scripted tool finds nothing about anybody; the other two slots have their text.
    assert bench.connector.seen[-1].messages[-1].parts[0].text == (
        "Who:  Asks: \n\nWhy?\n\n Knows: \n\nA shed is a gap.\n\n"
    )


async def test_without_the_placeholder_nobody_is_looked_up(bench: Bench) -> None:
    await bench.events(ask(augmented(template="{user_input} {{moodle}} moodle_user")))
    assert not bench.tools.seen
    assert bench.connector.seen


async def test_other_prompt_processors_have_no_such_placeholder(bench: Bench) -> None:
    await bench.events(ask(assistant(template=TEMPLATE)))
    assert not bench.tools.seen


async def test_what_a_person_writes_is_not_looked_at(bench: Bench) -> None:
    await bench.events(ask(augmented(template="{user_input}"), "Who is {moodle_user}?"))
    assert not bench.tools.seen
    assert "{moodle_user}" in bench.connector.seen[-1].messages[-1].parts[0].text


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
async def test_a_binding_that_does_not_fill_it_is_not(bench: Bench, idle: pb.ToolBinding) -> None:
    assert bindings(idle) == ["moodle_user", "moodle_user"]

    await bench.events(ask(augmented(idle)))

    [run] = bench.tools.seen
    assert run.invocations[-1].slot == "moodle_user"
    assert len({each.id for each in run.invocations}) == len(run.invocations)
