"""The rules that every connector follows, as checks that raise `AssertionError`."""

import asyncio
import inspect
import json
import re
from collections.abc import Callable
from contextlib import aclosing
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from heddle.account.v1.account_pb2 import Provider
from heddle_runtime.errors import HeddleError

from heddle_connector.http import http_client
from heddle_connector.sdk.definition import Connector, Example
from heddle_connector.sdk.organization import organization_settings
from heddle_connector.sdk.testing.provider import ProviderRequest, Reply, ScriptedProvider
from heddle_connector.sdk.testing.runner import (
    Answer,
    ask,
    list_models,
    make_call,
    opened,
)

Check = Callable[[type[Connector[Any]]], None]
_PROMPT = "Say hello."
_CANCEL_SECONDS = 2.0
_CHUNK_BYTES = (1, 7, 10_000)
_SECRET = "a-secret-of-the-conformance-tests"  # noqa: S105 - only for tests
_OPTIONS = {"max_tokens": 8, "temperature": 0}


def check_conformance(connector: type[Connector[Any]]) -> None:
    """Run all checks.

    Raises:
        AssertionError: The connector breaks a rule; the message names the rule.
    """
    for check in CHECKS:
        check(connector)


def check_description(connector: type[Connector[Any]]) -> None:
    """Check that the name, the description and the settings are complete."""
    plugin = connector.plugin
    assert plugin.description.endswith("."), "The first line of the docstring is a sentence."
    prefix = plugin.settings.model_config.get("env_prefix", "")
    for name, field in plugin.settings.model_fields.items():
        expected = f"HEDDLE_CONNECTOR_{plugin.name.upper()}_"
        assert prefix == expected, f"The prefix of the settings is {expected!r}, not {prefix!r}."
        assert field.description, f"The setting {name!r} has a description."
        assert not field.is_required(), f"The setting {name!r} has a default value."


def check_imports(connector: type[Connector[Any]]) -> None:
    """Check that the connector imports only the SDK of Heddle, and modules of its package."""
    module = inspect.getmodule(connector)
    assert module is not None, "The connector is defined in a module."
    source = inspect.getsource(module)
    imports = re.findall(r"^(?:from|import) ((?:heddle|grpc)[\w.]*)", source, re.MULTILINE)
    own = f"{module.__name__.rpartition('.')[0]}."
    others = sorted(
        {name for name in imports if name != "heddle_connector.sdk" and not name.startswith(own)}
    )
    assert not others, f"A connector imports only heddle_connector.sdk, not {', '.join(others)}."


def check_example(connector: type[Connector[Any]]) -> None:
    """Check that the example gives the same answer, whole and in chunks of any size."""
    example = _example(connector)
    for size in _CHUNK_BYTES if example.reply else (0,):
        provider = ScriptedProvider(Reply(example.reply, chunk_bytes=size))
        _check_answer(_ask_example(connector, provider), example)
    provider = ScriptedProvider(example.whole_reply or example.reply)
    _check_answer(_ask_example(connector, provider, whole=True), example)


def check_secrets(connector: type[Connector[Any]]) -> None:
    """Check that no error contains a secret of the settings, even if the provider echoes it."""
    example = _example(connector)
    secrets = {
        name
        for name, setting in connector.plugin.settings.model_fields.items()
        if "SecretStr" in str(setting.annotation)
    }
    if not (secrets and example.reply):
        return
    settings = {**example.settings, **dict.fromkeys(secrets, _SECRET)}
    for whole, status, form in product((False, True), (401, 200), ("%b", "data: %b\n\n")):
        provider = ScriptedProvider(Reply(partial(_echo, form.encode()), status=status))
        try:
            ask(connector, _PROMPT, provider, model=example.model, settings=settings, whole=whole)
        except HeddleError as error:
            visible = f"{error.message} {error.violations} {error.metadata}"
            assert _SECRET not in visible, "An error contains a secret of the settings."
        except Exception:  # noqa: BLE001, S112 - the caller receives a general message
            continue


def check_organizations(connector: type[Connector[Any]]) -> None:
    """Check that the connector answers with an organisation's settings, and sends its key."""
    if connector.plugin.organization_settings and _example(connector).reply:
        asyncio.run(_check_organization(connector))


def check_cancellation(connector: type[Connector[Any]]) -> None:
    """Check that closing the generator closes the provider's connection."""
    asyncio.run(_check_cancellation(connector))


def check_models(connector: type[Connector[Any]]) -> None:
    """Check that listing the models succeeds or raises one of the SDK's errors."""
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
    check_secrets,
    check_organizations,
    check_cancellation,
    check_models,
)
"""All checks, for tests that run each check on its own."""


async def _check_organization(connector: type[Connector[Any]]) -> None:
    example, plugin = _example(connector), connector.plugin
    sources = plugin.organization_settings
    addresses = [name for name, source in sources.items() if source == "base_url"]
    assert addresses, (
        'The setting of the provider\'s address is marked FromOrganization("base_url").'
    )
    provider = ScriptedProvider(example.whole_reply or example.reply)
    with TemporaryDirectory() as folder:
        call = make_call(
            connector, _PROMPT, example.model, Path(folder), whole=True, members=_OPTIONS
        )
        async with provider.running() as url, http_client(5.0) as http:
            address = example.settings.get(addresses[0], "").replace("{provider}", url)
            supplied = Provider(base_url=address, api_key=_SECRET)
            settings = organization_settings(plugin, supplied)
            instance = plugin.open(settings, http)
            try:
                _check_answer(Answer([await instance.complete(call)]), example)
            finally:
                await instance.close()
    if "api_key" in sources.values():
        request = provider.requests[-1]
        assert _SECRET in f"{request.headers} {request.path}", "The organisation's key is sent."


async def _check_cancellation(connector: type[Connector[Any]]) -> None:
    example = _example(connector)
    if not example.reply:
        return
    provider = ScriptedProvider(Reply(ends=False))
    with TemporaryDirectory() as folder:
        call = make_call(connector, _PROMPT, example.model, Path(folder), members=_OPTIONS)
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


def _ask_example(
    connector: type[Connector[Any]], provider: ScriptedProvider, *, whole: bool = False
) -> Answer:
    example = _example(connector)
    return ask(
        connector,
        _PROMPT,
        provider,
        model=example.model,
        settings=example.settings,
        whole=whole,
        **_OPTIONS,
    )


def _echo(form: bytes, request: ProviderRequest) -> bytes:
    """Return an error that repeats the request's headers, as some proxies do."""
    message = f"{request.method} {request.path}: {request.headers}"
    return form % json.dumps({"type": "error", "error": {"message": message}}).encode()


def _check_answer(answer: Answer, example: Example) -> None:
    done = answer.done
    if example.answer:
        assert answer.text == example.answer, (
            f"The answer is {example.answer!r}, not {answer.text!r}."
        )
    assert done.finish_reason != "unknown", "The finish reason is known."
    assert done.model, "Done names the model."
    assert done.usage is not None, "Done contains the token usage."
