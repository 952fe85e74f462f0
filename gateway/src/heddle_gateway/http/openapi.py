"""What the gateway offers, told as an OpenAPI document.

The folder `openapi` holds what somebody has to say about each route; what all routes have in
common, the ways to fail, is added here.
"""

import asyncio
from functools import cache
from importlib import resources
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from heddle_gateway.http.raw import RawRequest, RawResponse

if TYPE_CHECKING:
    from heddle_gateway.state import State

_PROBLEM = {"$ref": "#/components/responses/Problem"}
# By what a route has, the statuses of the problems that come with it.
_WITH_GATE = ("401", "403", "429", "500", "501", "503", "504")
_WITH_BODY = ("400", "408", "413")
_PARTS = (
    *("completions.yaml", "pictures.yaml", "assistants.yaml", "usage.yaml", "rubrics.yaml"),
    *("creator.yaml", "catalog.yaml", "mcp.yaml"),
    *("files.yaml", "vector_stores.yaml", "lamb_kb.yaml"),
)
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


async def openapi(_: "State", __: RawRequest) -> RawResponse:
    """Answer `GET /openapi.json`."""
    return RawResponse(200, await asyncio.to_thread(_encoded))


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document. It is shared: nobody changes it."""
    told: dict[str, Any] = _read("document.yaml")
    told["info"]["version"] = version("heddle-gateway")
    for name in _PARTS:
        part = _read(name)
        told["paths"] |= part["paths"]
        told["components"]["schemas"] |= part["schemas"]
        told["components"]["parameters"] |= part.get("parameters", {})
    for path in told["paths"].values():
        for operation in path.values():
            _add_problems(operation)
    return told


@cache
def _encoded() -> bytes:
    return msgspec.json.encode(document())


def _read(name: str) -> Any:  # noqa: ANN401 - whatever the file holds
    text = (
        resources.files("heddle_gateway").joinpath("http", "openapi_parts", name).read_text("utf-8")
    )
    return yaml.load(text, _LOADER)  # noqa: S506 - both loaders are safe ones


def _add_problems(operation: dict[str, Any]) -> None:
    statuses: list[str] = []
    if operation.get("security") != []:
        statuses += _WITH_GATE
    if "requestBody" in operation:
        statuses += _WITH_BODY
    for status in statuses:
        operation["responses"].setdefault(status, _PROBLEM)
