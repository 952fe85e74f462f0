"""What a trace with texts has: the steps in time, the slots, the prompt as sent, and the costs."""

import pytest
from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.contract.struct_codec import to_struct
from orchestrator.harness import Harness, ask, assistant, done, function, text, tool

KEY = "sk-proj-Zq81Lm20Xc93Vb47Nn65Rt12"


def traced(request: pb.RunCompletionRequest) -> pb.RunCompletionRequest:
    request.include_trace = request.include_trace_texts = True
    return request


async def trace_of(harness: Harness, request: pb.RunCompletionRequest) -> pb.Trace:
    """Return the trace of the streamed run, which is the same as that of the whole one."""
    harness.connector.seen.clear()
    streamed = (await harness.events(request))[-2].trace
    harness.connector.seen.clear()
    whole = (await harness.whole(request))[-2].trace
    assert [s.name for s in streamed.steps] == [s.name for s in whole.steps]
    assert streamed.slots == whole.slots
    return streamed


def texts(trace: pb.Trace, slot: pb.Trace.Insertion) -> list[str]:
    """Return what the prompt has in the ranges of a slot."""
    return [
        trace.prompt[each.message].parts[each.part][each.start : each.end] for each in slot.ranges
    ]


async def test_a_slot_tells_its_tool_and_its_place_in_the_prompt(harness: Harness) -> None:
    target = assistant(
        tool("a", "context", text="The shed is open."),
        tool("b", "context", text="𝄞 Tables, too."),
        tool("c", "more", text=""),
        template="{user_input}: {context} (again {context}) {more}",
        system_prompt="Be brief.",
    )
    trace = await trace_of(harness, traced(ask(target, "What is a shed? 𝄞")))

    sent = harness.connector.seen[-1].messages
    assert [m.parts[0] for m in trace.prompt] == [m.parts[0].text for m in sent]
    slots = [(s.slot, s.tool, s.text, texts(trace, s)) for s in trace.slots]
    assert slots == [
        ("user_input", "", "What is a shed? 𝄞", ["What is a shed? 𝄞"]),
        ("context", "a", "The shed is open.", ["The shed is open."] * 2),
        ("context", "b", "𝄞 Tables, too.", ["𝄞 Tables, too."] * 2),
    ]
    assert [trace.steps[s.step].tool for s in trace.slots[1:]] == ["a", "b"]
    assert not trace.slots[0].HasField("step")


async def test_a_note_about_a_tool_without_a_slot_is_in_the_trace(harness: Harness) -> None:
    target = assistant(tool("a", "nowhere", text="lost"), template="{user_input}")
    trace = await trace_of(harness, traced(ask(target)))

    [note] = [slot for slot in trace.slots if slot.tool]
    assert not note.slot
    assert texts(trace, note) == [note.text]


@pytest.mark.parametrize("secret", [KEY, f"password={KEY}"])
async def test_places_are_right_after_secrets_are_replaced(harness: Harness, secret: str) -> None:
    target = assistant(
        tool("a", "context", text=f"{secret} opens the shed"),
        tool("b", "more", text="ann@example.org knows"),
        template="{context}{more}{user_input}",
    )
    trace = await trace_of(harness, traced(ask(target, f"Is {KEY} right?")))

    assert KEY[8:] not in str(trace)
    slots = {slot.slot: (slot.text, texts(trace, slot)) for slot in trace.slots}
    assert all([text] == places for text, places in slots.values())
    assert slots["more"][0] == "ann@example.org knows"


async def test_steps_have_starts_outputs_and_failures(harness: Harness) -> None:
    target = assistant(
        tool("a", "context", text="x" * 30_000, seconds=0.05),
        tool("b", "more", refuse=True),
        template="{context}{more}{user_input}",
    )
    target.strategy = "sequential"
    trace = await trace_of(harness, traced(ask(target)))

    a, b, model = trace.steps
    assert [a.kind, b.kind, model.kind] == [
        pb.Trace.STEP_KIND_TOOL,
        pb.Trace.STEP_KIND_TOOL,
        pb.Trace.STEP_KIND_MODEL,
    ]
    assert [a.slot, b.slot, a.binding_id] == ["context", "more", "a"]
    assert (a.output, a.output_cut, a.output_chars) == ("x" * 20_000, True, 30_000)
    assert (b.error.reason, b.error.message) == ("TOOL_FAILED", "The library is closed.")
    assert (model.output, model.output_cut, model.model) == ("Hello", False, "scripted/m")
    starts = [step.start.ToNanoseconds() for step in trace.steps]
    assert starts == sorted(starts)
    assert starts[1] - starts[0] >= 50_000_000


async def test_each_request_to_a_model_is_a_step_and_results_of_calls_have_places(
    harness: Harness,
) -> None:
    harness.connector.calls = 1
    harness.connector.batches = [
        [text("Hello")],
        [done(chat_pb2.Usage(prompt_tokens=10, completion_tokens=2))],
    ]
    target = assistant(function("look", text="A loom."))
    trace = await trace_of(harness, traced(ask(target)))

    call, *rounds = trace.steps
    assert (call.name, call.call_id, call.tool, call.output) == ("look", "c", "look", "A loom.")
    assert [step.usage.prompt_tokens for step in rounds] == [10, 10]
    ends = rounds[0].start.ToNanoseconds() + rounds[0].elapsed.ToNanoseconds()
    assert ends <= call.start.ToNanoseconds() <= rounds[1].start.ToNanoseconds()
    [result] = [slot for slot in trace.slots if slot.tool == "look"]
    assert texts(trace, result) == ["A loom."]
    assert trace.prompt[-1].tool_call_id == "c"
    assert trace.prompt[-2].tool_calls[0].name == "look"


@pytest.mark.parametrize(
    ("price", "cost"),
    [
        (assistant_pb2.Price(input_micros=2_000_000, output_micros=1), 21),
        (None, None),
    ],
)
async def test_a_step_tells_its_costs_if_the_model_has_a_price(
    harness: Harness, price: assistant_pb2.Price | None, cost: int | None
) -> None:
    harness.usage.price = price
    harness.connector.batches = [
        [text("Hello"), done(chat_pb2.Usage(prompt_tokens=10, completion_tokens=2))]
    ]
    trace = await trace_of(harness, traced(ask(assistant())))

    [step] = trace.steps
    assert step.HasField("cost_micros") == (cost is not None)
    assert step.cost_micros == (cost or 0)


@pytest.mark.parametrize("size", [1_100_000])
async def test_a_trace_of_a_megabyte_arrives(harness: Harness, size: int) -> None:
    target = assistant(tool("a", "context", text="word " * (size // 5)), template="{context}")
    trace = await trace_of(harness, traced(ask(target)))

    assert trace.ByteSize() > size
    assert len(texts(trace, trace.slots[-1])[0]) == size


async def test_texts_are_only_in_a_trace_that_asks_for_them(harness: Harness) -> None:
    bound = tool("a", "context", text="passage", sources=["Looms", "Sheds"])
    target = assistant(bound, template="{context}{user_input}")
    request = traced(ask(target))
    step, *_ = (await trace_of(harness, request)).steps
    assert [each.title for each in step.sources] == ["Looms", "Sheds"]
    request.include_trace_texts = False
    trace = (await harness.events(request))[-2].trace

    assert not trace.has_texts
    assert not trace.slots
    assert not any(step.output for step in trace.steps)
    assert not any(step.sources for step in trace.steps)
    assert "passage" not in str(trace.prompt)


async def test_a_template_that_repeats_a_slot_has_at_most_100_places(harness: Harness) -> None:
    config = to_struct({"text": "x"})
    binding = assistant_pb2.ToolBinding(tool="a", slot="context", config=config)
    trace = await trace_of(harness, traced(ask(assistant(binding, template="{context}" * 300))))

    assert len(trace.slots[-1].ranges) == 100
