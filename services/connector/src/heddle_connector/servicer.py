"""`heddle.connector.v1.ConnectorService`."""

from collections.abc import AsyncGenerator, Sequence

from heddle.assistant.v1.assistant_pb2 import ModelRef
from heddle.connector.v1 import connector_pb2 as pb
from heddle.connector.v1 import connector_pb2_grpc as pb_grpc
from heddle_runtime.boundary import Context
from heddle_runtime.calls import caller, remaining
from heddle_runtime.errors import HeddleError, ProviderGarbledError
from heddle_runtime.paging import page

from heddle_connector.call import Call
from heddle_connector.catalog import Catalog, Listing
from heddle_connector.events import Done, Event
from heddle_connector.owners import Owners
from heddle_connector.registry import Registry
from heddle_connector.responses import add_events
from heddle_connector.sdk import Model

_KINDS = {
    "image": pb.INPUT_KIND_IMAGE,
    "audio": pb.INPUT_KIND_AUDIO,
    "file": pb.INPUT_KIND_FILE,
}


class ConnectorServicer(pb_grpc.ConnectorServiceServicer):
    """Translates between the contract and the connectors."""

    def __init__(self, registry: Registry, catalog: Catalog, owners: Owners) -> None:
        self._registry = registry
        self._catalog = catalog
        self._owners = owners

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
        offers = await self._owners.offers(caller().identity.organization, request.connector)
        listings = await self._catalog.listings(offers, remaining(context))
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
        call = Call(request, context)
        connector = await self._owners.connector(call)
        batches, ending = connector.generate(call), _Ending()
        try:
            async for events in batches:
                if taken := ending.take(events):
                    response = pb.GenerateMessageResponse()
                    add_events(response.events, taken)
                    yield response
            ending.check()
        except HeddleError as error:
            error.metadata.setdefault("provider", call.connector)
            raise
        finally:
            await batches.aclose()

    async def GenerateWholeMessage(
        self, request: pb.GenerateWholeMessageRequest, context: Context
    ) -> pb.GenerateWholeMessageResponse:
        """Return all that the connector yields when it is over."""
        call = Call(request.generation, context, whole=True)
        connector = await self._owners.connector(call)
        ending = _Ending()
        try:
            events = ending.take(await connector.whole(call))
            ending.check()
        except HeddleError as error:
            error.metadata.setdefault("provider", call.connector)
            raise
        response = pb.GenerateWholeMessageResponse()
        add_events(response.events, events)
        return response


class _Ending:
    """Sees that an answer ends as the contract says: with one `Done`, and nothing after it."""

    # No generator: a layer of those costs every token more than all that is done here.
    __slots__ = ("_done",)

    def __init__(self) -> None:
        self._done = False

    def take(self, events: Sequence[Event]) -> Sequence[Event]:
        """Return what of `events` belongs to the answer."""
        if self._done:
            return ()
        for number, event in enumerate(events):
            if type(event) is Done:
                self._done = True
                return events[: number + 1]
        return events

    def check(self) -> None:
        """Raise an error if the end did not come."""
        if not self._done:
            raise ProviderGarbledError("The provider's answer ended before it was complete.")


def _model(listing: Listing, model: Model) -> pb.Model:
    return pb.Model(
        ref=ModelRef(connector=listing.connector, model=model.name),
        title=model.title or model.name,
        input_kinds=[_KINDS[kind] for kind in model.input_kinds],
    )
