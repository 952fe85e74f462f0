"""`heddle usage`."""

from collections.abc import Iterator
from typing import Annotated

import typer
from heddle.usage.v1 import usage_pb2 as pb
from heddle.usage.v1.usage_pb2_grpc import UsageServiceStub

from heddle_cli.connections import Connection, connected
from heddle_cli.options import AsJson
from heddle_cli.pages import document, whole
from heddle_cli.terminal import out, plain, show

_HEAD = (
    *("ASSISTANT", "ORGANISATION", "MODEL", "REQUESTS", "UNKNOWN"),
    *("PROMPT", "CACHED", "ANSWER", "UNPRICED", "USD", "LIMIT", "NAME"),
)
_MICROS = 1_000_000


def usage(
    *,
    organization: Annotated[str, typer.Option(help="Only assistants of this organisation.")] = "",
    assistant: Annotated[str, typer.Option(help="Only the assistant with this id.")] = "",
    reset: Annotated[
        bool, typer.Option("--reset", help="Set the counters of the assistant to zero.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the usage of assistants by model: requests, tokens, US dollars.

    UNKNOWN counts requests whose tokens the provider did not report, UNPRICED tokens of models
    without a price. Neither costs anything here or counts against a quota.
    """
    if reset and not assistant:
        raise typer.BadParameter("Name the assistant.", param_hint="--assistant")
    with connected("assistants", UsageServiceStub) as connection:
        if reset:
            request = pb.ResetUsageRequest(id=assistant)
            connection.stub.ResetUsage(request)
            if not as_json:
                out.print(plain(f"{assistant}: begun anew"))
                return
        response = listed(connection, organization, assistant)
    rows = (row for each in response.assistants for row in _rows(each))
    show(
        document(response),
        rows,
        as_json=as_json,
        head=_HEAD,
        without="Nothing was consumed yet.",
    )


def listed(
    connection: Connection[UsageServiceStub], organization: str, assistant: str
) -> pb.ListUsageResponse:
    """Return the usage of one assistant, of all, or of those of an organisation."""
    if assistant:
        one = connection.stub.GetUsage(pb.GetUsageRequest(id=assistant)).usage
        shown = [one] if organization in ("", one.organization) else []
        return pb.ListUsageResponse(assistants=shown)
    response: pb.ListUsageResponse = whole(
        connection.stub.ListUsage, pb.ListUsageRequest(organization=organization)
    )
    return response


def _rows(usage: pb.AssistantUsage) -> Iterator[tuple[str, ...]]:
    limit = _dollars(usage.quota.limit_micros) if usage.HasField("quota") else "-"
    for used in usage.models:
        counts = used.counts
        numbers = (
            *(counts.requests, counts.usage_unknown),
            *(counts.prompt_tokens, counts.cached_tokens, counts.completion_tokens),
            used.unpriced_tokens,
        )
        yield (
            *(usage.assistant_id, usage.organization),
            f"{used.model.connector}/{used.model.model}",
            *map(str, numbers),
            *(_dollars(used.cost_micros), limit, usage.name),
        )


def _dollars(micros: int) -> str:
    """Return an amount to the millionth, without a binary fraction's noise."""
    return f"{micros // _MICROS}.{micros % _MICROS:06}"
