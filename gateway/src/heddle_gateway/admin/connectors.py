"""`/connectors`: the models that an editor of assistants offers."""

import asyncio
from typing import Literal

from heddle.connector.v1 import connector_pb2
from heddle_runtime.contract.enums import enum_names
from heddle_runtime.contract.limits import MAX_PAGE_SIZE
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.permissions import may_administer
from pydantic import Field

from heddle_gateway.http.models import Model
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import LIST_SECONDS, call, items

InputKind = Literal["image", "audio", "file"]
_KINDS = enum_names(connector_pb2.InputKind.DESCRIPTOR)
_SOURCES = enum_names(connector_pb2.SettingsSource.DESCRIPTOR)
routes = Routes("catalog")


class ConnectorModel(Model):
    """A model that is ready to answer."""

    id: str = Field(description="`model.model` of an assistant.")
    title: str
    reads: list[InputKind] = Field(description="What the model reads beside text.")


class Connector(Model):
    """A connector, with the models that assistants of the caller's organisation can use."""

    name: str = Field(description="`model.connector` of an assistant.")
    description: str
    calls_functions: bool = Field(description="Whether its models can call tools as functions.")
    streams: bool = Field(description="Whether answers arrive in pieces.")
    generates_images: bool
    debugging: bool = Field(description="Whether it shows prompts and asks no model.")
    settings: list[Literal["api_key", "base_url", "models"]] = Field(
        description="What an organisation can set for it in `providers` of its settings."
    )
    settings_source: Literal["organization", "environment"] | None = Field(
        description="Where the settings come from; null if nothing is set."
    )
    models: list[ConnectorModel]
    available: bool = Field(
        description="Whether the provider lists its models. If not, ask the operator."
    )
    problem: str | None = Field(
        description="Why it is not available, and the remedy. For administrators only."
    )


class ConnectorList(Model):
    """The connectors."""

    connectors: list[Connector]
    default_model: str | None = Field(
        description="`connector/model` that answers for the model `default` of the connector "
        "`default`; null if no model is connected. Such an assistant then quotes what it found."
    )


@routes.get("/connectors")
async def connectors(api: Call) -> ConnectorList:
    """List the connectors and models that assistants of the caller's organisation can use."""
    client = api.services.connectors
    request = connector_pb2.ListConnectorsRequest()
    installed, (models, problems, default_model) = await asyncio.gather(
        items(client.ListConnectors, request, "connectors", LIST_SECONDS), _models(api)
    )
    shows_problems = may_administer(caller().identity)
    return ConnectorList(
        connectors=[
            Connector.of(
                each,
                models=models.get(each.name, []),
                settings_source=_SOURCES.get(each.settings_source),
                available=each.name not in problems,
                problem=problems.get(each.name) if shows_problems else None,
            )
            for each in installed
        ],
        default_model=default_model or None,
    )


async def _models(api: Call) -> tuple[dict[str, list[ConnectorModel]], dict[str, str], str]:
    """Return the models by connector, the problems of the others, and the default model."""
    method = api.services.connectors.ListModels
    models: dict[str, list[ConnectorModel]] = {}
    problems: dict[str, str] = {}
    token = ""
    while True:
        request = connector_pb2.ListModelsRequest(page_size=MAX_PAGE_SIZE, page_token=token)
        page = await call(method, request, LIST_SECONDS)
        for each in page.models:
            reads = [_KINDS[kind] for kind in each.input_kinds if kind in _KINDS]
            model = ConnectorModel.model_validate(
                {"id": each.ref.model, "title": each.title or each.ref.model, "reads": reads}
            )
            models.setdefault(each.ref.connector, []).append(model)
        problems |= {each.connector: each.message for each in page.problems}
        if not (token := page.next_page_token):
            return models, problems, page.default_model
