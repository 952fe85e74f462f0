"""What `OrchestratorService.RunCompletion` traces."""

from collections.abc import Sequence
from itertools import permutations, product

import pytest
from heddle.chat.v1 import chat_pb2
from heddle.connector.v1 import connector_pb2
from heddle_runtime.contract.struct_codec import from_struct
from orchestrator.harness import Harness, ask, assistant, done, function, kinds, text, tool
from runtime.examples import sampled


async def test_a_trace_shows_lengths_instead_of_what_tools_found(harness: Harness) -> None:
    target = assistant(
        tool("a", "context", text="found it", api_key="sk-abcdefghijklmnopqrstuvwx"),
        template="{context} {user_input}",
    )
    request = ask(target, "mail ann@example.org")
    request.include_trace = True

    events = await harness.events(request)

    assert kinds(events)[-2:] == ["trace", "done"]
    trace = events[-2].trace
    assert trace.prompt[0].parts[0] == "\n\n[a: 8 characters]\n\n \n\nmail [redacted]\n\n"
    assert [(s.name, s.output_chars) for s in trace.steps] == [("a", 8), ("model", 5)]
    assert (
        trace.steps[-1].elapsed.ToNanoseconds() > 0
    )  # the answer has not ended, but the model has
    assert "sk-abc" not in str(trace)
    assert "found it" not in str(trace.prompt)


async def test_a_trace_shows_the_configuration_of_a_tool_without_secrets(harness: Harness) -> None:
    config = {"file_path": "docs/guide.md", "api_key": "sk-abcdefghijklmnopqrstuvwx"}
    request = ask(assistant(tool("single_file", "file", **config)))
    request.include_trace = True

    events = await harness.events(request)

    step = events[-2].trace.steps[0]
    assert from_struct(step.input) == {"file_path": "docs/guide.md", "api_key": "[redacted]"}


@pytest.mark.parametrize("reason", ["PROVIDER_REFUSED", ""])
async def test_a_replaced_model_is_told_and_traced(harness: Harness, reason: str) -> None:
    replacement = chat_pb2.ModelReplaced(
        requested="scripted/m", replacement="scripted/n", reason=reason
    )
    replaced = connector_pb2.GenerationEvent(model_replaced=replacement)
    harness.connector.batches = [[replaced, text("Hello")], [done()]]
    request = ask(assistant())
    request.include_trace = True
    for events in (await harness.events(request), await harness.whole(request)):
        assert kinds(events) == ["model_replaced", "text_delta", "trace", "done"]
        assert events[0].model_replaced == replacement
        steps = [(step.name, step.error.reason) for step in events[-2].trace.steps]
        assert steps == [("model", reason or "NOT_FOUND"), ("model", "")]


@pytest.mark.parametrize(
    ("arguments", "traced"),
    [
        ('{"n": 3, "token": "abc"}', {"n": 3, "token": "[redacted]"}),
        ('{"n": 100000000000000000000}', {"malformed": '{"n": 100000000000000000000}'}),
        ('{"n": NaN}', {"malformed": '{"n": NaN}'}),
        ('{"text": "half \\ud83d"}', {"malformed": '{"text": "half \\ud83d"}'}),
        ("n = 3", {"malformed": "n = 3"}),
    ],
)
async def test_a_trace_tells_what_a_function_was_called_with_whatever_that_is(
    harness: Harness, arguments: str, traced: dict[str, object]
) -> None:
    harness.connector.calls = 1
    harness.connector.arguments = arguments
    request = ask(assistant(function("look")))
    request.include_trace = True

    events = await harness.events(request)

    assert kinds(events)[-2:] == ["trace", "done"]
    assert from_struct(events[-2].trace.steps[0].input) == traced


@pytest.mark.parametrize("levels", [32, 40, 200, 201, 900])
async def test_arguments_however_deep_do_not_cost_the_answer(harness: Harness, levels: int) -> None:
    harness.connector.calls = 1
    harness.connector.arguments = '{"a":' * levels + "1" + "}" * levels
    request = ask(assistant(function("look")))
    request.include_trace = True
    for answered in (harness.events, harness.whole):
        harness.connector.seen.clear()  # so that it calls again
        events = await answered(request)
        assert kinds(events)[-3:] == ["text_delta", "trace", "done"]
        traced = from_struct(events[-2].trace.steps[0].input)
        assert list(traced) == ["a" if levels <= 32 else "malformed"]


SECRETS = {
    "api_key": "sk-proj-Zq81Lm20Xc93Vb47Nn65Rt12",
    "token": "hvs.CAESIJ7uQ2xW9kP4mN8rT6vB3zY1",
    "e-mail address": "ann.smith@school.example",
    "passage": "The reed beats the weft against the cloth.",
}


TEMPLATES = ("{context} {user_input}", "{user_input}{context}", "Use:{context}")
PREFIXES = ("", "Find ", "password=", "Authorization: Bearer ")
SEEDED = sampled(list(product(permutations(SECRETS.values()), TEMPLATES, PREFIXES)), 12)


@pytest.mark.parametrize(("seeded", "template", "prefix"), SEEDED)
async def test_no_trace_contains_keys_addresses_or_texts_of_tools(
    harness: Harness, seeded: Sequence[str], template: str, prefix: str
) -> None:
    config = {"api_key": SECRETS["api_key"], "note": f"{prefix}{SECRETS['token']}"}
    target = assistant(tool("a", "context", text=" ".join(seeded), **config), template=template)
    question = " ".join(each for each in seeded if each != SECRETS["passage"])
    request = ask(target, f"{prefix}{question}")
    request.include_trace = True

    for events in (await harness.events(request), await harness.whole(request)):
        trace = events[-2].trace
        assert trace.prompt
        for secret in ("api_key", "token", "e-mail address"):
            assert SECRETS[secret][3:20] not in str(trace), secret
        assert SECRETS["passage"] not in str(trace.prompt)


async def test_tools_and_connector_see_whether_a_run_is_traced(harness: Harness) -> None:
    for include_trace in (True, False):
        request = ask(assistant(tool("a", "context")))
        request.include_trace = include_trace
        for run in (harness.events, harness.whole):
            await run(request)
            assert harness.connector.seen[-1].assistant.verbose is include_trace
            assert harness.tools.seen[-1].context.assistant.verbose is include_trace


async def test_a_verbose_assistant_traces_without_being_asked(harness: Harness) -> None:
    target = assistant()
    target.verbose = True

    assert kinds(await harness.events(ask(target)))[-2:] == ["trace", "done"]
