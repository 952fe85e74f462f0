"""The rules that every connector follows, as checks that raise `AssertionError`."""

import asyncio
import inspect
import re
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from heddle_runtime.errors import HeddleError

from heddle_connector.sdk.definition import Connector, Example
from heddle_connector.sdk.testing.provider import Reply, ScriptedProvider
from heddle_connector.sdk.testing.runner import Answer, ask, list_models, make_call, opened

Check = Callable[[type[Connector[Any]]], None]
_PROMPT = "Say hello."
_CANCEL_SECONDS = 2.0
_CHUNK_BYTES = (1, 7, 10_000)


def check_conformance(connector: type[Connector[Any]]) -> None:
    """Run all checks.

    Raises:
        AssertionError: The connector breaks a rule; the message names the rule.
    """
    for check in CHECKS:
        check(connector)


def check_description(connector: type[Connector[Any]]) -> None:
    """The name, the description and the settings are complete."""
    plugin = connector.plugin
    assert plugin.description.endswith("."), "The first line of the docstring is a sentence."
    prefix = plugin.settings.model_config.get("env_prefix", "")
    for name, field in plugin.settings.model_fields.items():
        expected = f"HEDDLE_CONNECTOR_{plugin.name.upper()}_"
        assert prefix == expected, f"The prefix of the settings is {expected!r}, not {prefix!r}."
        assert field.description, f"The setting {name!r} has a description."
        assert not field.is_required(), f"The setting {name!r} has a default value."


def check_imports(connector: type[Connector[Any]]) -> None:
    """The connector imports only the SDK of Heddle."""
    module = inspect.getmodule(connector)
    assert module is not None, "The connector is defined in a module."
    source = inspect.getsource(module)
    imports = re.findall(r"^(?:from|import) ((?:heddle|grpc)[\w.]*)", source, re.MULTILINE)
    others = sorted({name for name in imports if name != "heddle_connector.sdk"})
    assert not others, f"A connector imports only heddle_connector.sdk, not {', '.join(others)}."


def check_example(connector: type[Connector[Any]]) -> None:
    """The example gives the same answer, streamed in chunks of any size."""
    example = _example(connector)
    for size in _CHUNK_BYTES if example.reply else (0,):
        provider = ScriptedProvider(Reply(example.reply, chunk_bytes=size))
        answer = ask(connector, _PROMPT, provider, model=example.model, settings=example.settings)
        _check_answer(answer, example)


def check_cancellation(connector: type[Connector[Any]]) -> None:
    """Closing the generator closes the provider's connection."""
    asyncio.run(_check_cancellation(connector))


def check_models(connector: type[Connector[Any]]) -> None:
    """Listing the models succeeds or raises one of the SDK's errors."""
    provider = ScriptedProvider(Reply(b"{}", status=503))
    try:
        models = list_models(connector, provider, _example(connector).settings)
    except HeddleError:
        return
    assert models, "If there are no models, `models` raises UnavailableError."


CHECKS: tuple[Check, ...] = (
    check_description,
    check_imports,
    check_example,
    check_cancellation,
    check_models,
)
"""All checks, for tests that run each check on its own."""


async def _check_cancellation(connector: type[Connector[Any]]) -> None:
    example = _example(connector)
    if not example.reply:
        return
    provider = ScriptedProvider(Reply(ends=False))
    with TemporaryDirectory() as folder:
        call = make_call(connector, _PROMPT, example.model, Path(folder))
        async with (
            opened(connector, provider, example.settings) as instance,
            aclosing(instance.generate(call)) as batches,
        ):
            first = asyncio.ensure_future(anext(batches))
            await asyncio.wait_for(provider.responding.wait(), _CANCEL_SECONDS)
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            try:
                await asyncio.wait_for(provider.disconnected.wait(), _CANCEL_SECONDS)
            except TimeoutError:
                raise AssertionError("A cancelled call closes the provider's connection.") from None


def _example(connector: type[Connector[Any]]) -> Example:
    example = connector.plugin.example
    assert example is not None, "The decorator `connector` has an example."
    return example


def _check_answer(answer: Answer, example: Example) -> None:
    done = answer.done
    if example.answer:
        assert answer.text == example.answer, (
            f"The answer is {example.answer!r}, not {answer.text!r}."
        )
    assert done.finish_reason != "unknown", "The finish reason is known."
    assert done.model, "Done names the model."
    assert done.usage is not None, "Done contains the token usage."
