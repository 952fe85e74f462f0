"""What `make up` prints when Heddle runs."""

import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

import grpc
from heddle.account.v1 import account_pb2, account_pb2_grpc
from heddle.connector.v1 import connector_pb2, connector_pb2_grpc
from heddle_gateway.settings import GatewaySettings
from heddle_runtime.contract.default_model import DEFAULT_CONNECTOR
from heddle_runtime.errors import HeddleError
from heddle_runtime.identity.service_credentials import ServiceCredentials

_WIDTH = 88
_LABEL_WIDTH = 11
_LIST_SECONDS = 2.0
_ACCOUNT = "The operator has none yet. Make it with this link, which is good once:"


def announcement(  # noqa: PLR0913 - each is a row of the text
    version: str,
    gateway: GatewaySettings,
    address: str,
    services: Mapping[str, str],
    default_model: str | None,
    *,
    setup_link: str,
    prepares_examples: bool,
    log_file: Path | None,
) -> str:
    """Return the text.

    Args:
        version: Heddle's version.
        gateway: The settings of the gateway.
        address: Where it listens.
        services: The addresses of the services by name.
        default_model: What answers unless an assistant says otherwise, empty if nothing does; None
            if it is not known yet.
        setup_link: With which the first operator makes an account; empty if there is one.
        prepares_examples: Whether the documents of the examples are being ingested.
        log_file: Where the log is; None: on standard error.
    """
    url = f"http://{address}"
    rows = [
        ("Studio", f"{url}/studio/" if gateway.studio else "off (HEDDLE_GATEWAY_STUDIO)"),
        ("API", f"{url}/v1 (for OpenAI clients)"),
        ("Sign-in", _sign_in(gateway)),
        *([("Account", f"{_ACCOUNT} {setup_link}")] if setup_link else []),
        ("Models", _models(default_model, f"{url}/studio/models")),
        ("gRPC", ", ".join(f"{name} {place}" for name, place in services.items())),
    ]
    if prepares_examples:
        text = (
            "The documents of the examples are being prepared, for about a minute at the first "
            "start. Until then, the example assistants may not find their sources."
        )
        rows.append(("Documents", text))
    rows.append(("Log", str(log_file) if log_file else "JSON lines on standard error"))
    lines = [f"Heddle {version} is running. Ctrl+C stops it.", ""]
    return "\n".join([*lines, *(line for row in rows for line in _lines(*row)), ""])


async def operator_missing(gateway: GatewaySettings, channel: grpc.aio.Channel) -> bool:
    """Return whether the first operator needs an account, and can make it in the studio."""
    if gateway.development or not (gateway.studio and gateway.password_login):
        return False
    method = account_pb2_grpc.AccountServiceStub(channel).GetSetup
    try:
        request = account_pb2.GetSetupRequest()
        response = await ServiceCredentials("heddle").call(method, request, _LIST_SECONDS)
    except HeddleError:
        return False
    return response.operator_missing


async def default_model(channel: grpc.aio.Channel) -> str | None:
    """Return the default model of the operator's organisation; None if nothing answers at once."""
    method = connector_pb2_grpc.ConnectorServiceStub(channel).ListModels
    request = connector_pb2.ListModelsRequest(connector=DEFAULT_CONNECTOR)
    try:
        response = await ServiceCredentials("heddle").call(method, request, _LIST_SECONDS)
    except HeddleError:
        return None
    return response.default_model


def _sign_in(gateway: GatewaySettings) -> str:
    if gateway.development:
        return (
            "Not needed: only this machine can reach Heddle, and everyone who uses it is the "
            "operator."
        )
    ways = [
        *(["an e-mail address and a password"] if gateway.password_login else []),
        *(["an identity provider"] if gateway.oidc_providers else []),
    ]
    people = f"People sign in with {' or '.join(ways)}." if ways else "Nobody can sign in."
    return f"{people} Programs need an API key (heddle keys create)."


def _models(default_model: str | None, screen: str) -> str:
    if default_model is None:
        return "The connector service has not answered yet."
    if default_model:
        return f"{default_model} answers, unless an assistant names another model."
    return (
        "No model is connected: assistants quote what they find in documents. Connect a model at "
        f"{screen}"
    )


def _lines(label: str, text: str) -> Iterator[str]:
    first, *others = textwrap.wrap(
        text, _WIDTH - _LABEL_WIDTH, break_long_words=False, break_on_hyphens=False
    )
    yield f"  {label:{_LABEL_WIDTH}}{first}"
    for line in others:
        yield f"  {'':{_LABEL_WIDTH}}{line}"
