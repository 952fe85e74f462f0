"""What `make up` prints when Heddle runs."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import grpc
from heddle.connector.v1 import connector_pb2, connector_pb2_grpc
from heddle_gateway.settings import GatewaySettings
from heddle_runtime.contract.limits import MAX_PAGE_SIZE
from heddle_runtime.errors import HeddleError
from heddle_runtime.identity.service_credentials import ServiceCredentials

_WIDTH = 88
_LABEL_WIDTH = 11
_LIST_SECONDS = 2.0
_WITHOUT_PROVIDER = ("bypass", "default", "local")
"""The connectors for debugging, for the model of another connector, and for demonstrations."""


def announcement(
    version: str,
    gateway: GatewaySettings,
    address: str,
    services: Mapping[str, str],
    connectors: Sequence[str] | None,
    *,
    prepares_examples: bool,
    log_file: Path | None,
) -> str:
    """Return the text.

    Args:
        version: Heddle's version.
        gateway: The settings of the gateway.
        address: Where it listens.
        services: The addresses of the services by name.
        connectors: The connectors that list models; None if they have not answered yet.
        prepares_examples: Whether the documents of the examples are being ingested.
        log_file: Where the log is; None: on standard error.
    """
    url = f"http://{address}"
    rows = [
        ("Studio", f"{url}/studio/" if gateway.studio else "off (HEDDLE_GATEWAY_STUDIO)"),
        ("API", f"{url}/v1 (for OpenAI clients)"),
        ("Sign-in", _sign_in(gateway)),
        ("Models", _models(connectors)),
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


async def ready_connectors(channel: grpc.aio.Channel) -> Sequence[str] | None:
    """Return the operator's connectors that list models; None if they do not answer at once."""
    method = connector_pb2_grpc.ConnectorServiceStub(channel).ListModels
    request = connector_pb2.ListModelsRequest(page_size=MAX_PAGE_SIZE)
    try:
        response = await ServiceCredentials("heddle").call(method, request, _LIST_SECONDS)
    except HeddleError:
        return None
    return sorted({each.ref.connector for each in response.models})


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


def _models(connectors: Sequence[str] | None) -> str:
    if connectors is None:
        return "The providers have not answered yet."
    if providers := [each for each in connectors if each not in _WITHOUT_PROVIDER]:
        return f"Connected: {', '.join(providers)}."
    return (
        "No model is connected: assistants quote what they find in documents. Connect a model in "
        "the studio."
    )


def _lines(label: str, text: str) -> Iterator[str]:
    first, *others = textwrap.wrap(
        text, _WIDTH - _LABEL_WIDTH, break_long_words=False, break_on_hyphens=False
    )
    yield f"  {label:{_LABEL_WIDTH}}{first}"
    for line in others:
        yield f"  {'':{_LABEL_WIDTH}}{line}"
