"""`heddle.connector.v1.ConnectorService`."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from heddle.assistant.v1.assistant_pb2 import ModelRef
from heddle.connector.v1 import connector_pb2 as pb
from heddle.connector.v1 import connector_pb2_grpc as pb_grpc
from heddle_runtime.boundary import Context
from heddle_runtime.calls import remaining
from heddle_runtime.errors import HeddleError, ProviderGarbledError
from heddle_runtime.paging import page

from heddle_connector.call import Call
from heddle_connector.catalog import Catalog, Listing
from heddle_connector.events import Done, Event
from heddle_connector.registry import Registry
from heddle_connector.responses import to_events
from heddle_connector.sdk import Model

_KINDS = {
    "image": pb.INPUT_KIND_IMAGE,
    "audio": pb.INPUT_KIND_AUDIO,
    "file": pb.INPUT_KIND_FILE,
}


class ConnectorServicer(pb_grpc.ConnectorServiceServicer):
    """Translates between the contract and the connectors."""

    def __init__(self, registry: Registry, catalog: Catalog) -> None:
        self._registry = registry
        self._catalog = catalog

    async def ListConnectors(
        self, request: pb.ListConnectorsRequest, context: Context
    ) -> pb.ListConnectorsResponse:
        """List the connectors, and on the first page what was skipped."""
        plugins = self._registry.plugins
        found, following = page(
            [
                pb.Connector(
                    name=name,
                    description=plugins.found[name].description,
                    origin=plugins.origins[name],
                )
                for name in self._registry.connectors
            ],
            lambda item: item.name,
            request.page_size,
            request.page_token,
        )
        problems = [
            pb.ConnectorProblem(connector=problem.origin, message=problem.message)
            for problem in ([] if request.page_token else plugins.problems)
        ]
        return pb.ListConnectorsResponse(
            connectors=found, next_page_token=following, problems=problems
        )

    async def ListModels(
        self, request: pb.ListModelsRequest, context: Context
    ) -> pb.ListModelsResponse:
        """List the models, and the connectors that could not tell theirs."""
        listings = await self._catalog.listings(request.connector, remaining(context))
        models, following = page(
            [_model(listing, model) for listing in listings for model in listing.models],
            # "/" sorts before every character of a connector's name
            lambda item: f"{item.ref.connector}/{item.ref.model}",
            request.page_size,
            request.page_token,
            default=100,
            maximum=1000,
        )
        problems = [
            pb.ConnectorProblem(connector=listing.connector, message=listing.problem)
            for listing in listings
            if listing.problem
        ]
        return pb.ListModelsResponse(models=models, next_page_token=following, problems=problems)

    async def GenerateMessage(
        self, request: pb.GenerateMessageRequest, context: Context
    ) -> AsyncGenerator[pb.GenerateMessageResponse, None]:
        """Stream what the connector yields."""
        async with aclosing(self._batches(Call(request, context))) as batches:
            async for events in batches:
                yield pb.GenerateMessageResponse(events=to_events(events))

    async def GenerateWholeMessage(
        self, request: pb.GenerateWholeMessageRequest, context: Context
    ) -> pb.GenerateWholeMessageResponse:
        """Return all that the connector yields when it is over."""
        call = Call(request.generation, context, whole=True)
        response = pb.GenerateWholeMessageResponse()
        async with aclosing(self._batches(call)) as batches:
            async for events in batches:
                response.events.extend(to_events(events))
        return response

    async def _batches(self, call: Call) -> AsyncGenerator[Sequence[Event], None]:
        """Yield what the connector yields, and see that it ends as the contract says."""
        connector = self._registry.get(call.connector)
        done = False
        try:
            async with aclosing(connector.generate(call)) as batches:
                async for events in batches:
                    if done or not events:
                        continue
                    last = next((i for i, event in enumerate(events) if type(event) is Done), -1)
                    done = last >= 0
                    yield events[: last + 1] if done else events
            if not done:
                raise ProviderGarbledError("The provider's answer ended before it was complete.")
        except HeddleError as error:
            error.metadata.setdefault("provider", call.connector)
            raise


def _model(listing: Listing, model: Model) -> pb.Model:
    return pb.Model(
        ref=ModelRef(connector=listing.connector, model=model.name),
        title=model.title or model.name,
        input_kinds=[_KINDS[kind] for kind in model.input_kinds],
    )
