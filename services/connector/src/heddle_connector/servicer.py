"""`heddle.connector.v1.ConnectorService`."""

from collections.abc import AsyncGenerator, Sequence

from heddle.assistant.v1.assistant_pb2 import ModelRef
from heddle.connector.v1 import connector_pb2 as pb
from heddle.connector.v1 import connector_pb2_grpc as pb_grpc
from heddle_runtime.call_metadata import caller, remaining
from heddle_runtime.errors import HeddleError, ProviderGarbledError
from heddle_runtime.paging import page
from heddle_runtime.server_interceptor import Context

from heddle_connector.generation.call import Call
from heddle_connector.generation.event_encoding import add_events, to_picture
from heddle_connector.generation.events import Done, Event
from heddle_connector.generation.generated_images import Pictures
from heddle_connector.generation.prompted_tools import PromptedFunctions
from heddle_connector.generation.text_tool_calls import CallFormats, WrittenCalls
from heddle_connector.routing.fallback import begin, whole
from heddle_connector.routing.model_catalog import Catalog, Listing
from heddle_connector.routing.registry import Registry
from heddle_connector.routing.tenant_connectors import Owners
from heddle_connector.sdk import Model

_KINDS = {
    "image": pb.INPUT_KIND_IMAGE,
    "audio": pb.INPUT_KIND_AUDIO,
    "file": pb.INPUT_KIND_FILE,
}


class ConnectorServicer(pb_grpc.ConnectorServiceServicer):
    """Translates between the contract and the connectors."""

    def __init__(
        self,
        registry: Registry,
        catalog: Catalog,
        owners: Owners,
        formats: CallFormats,
        prompted: PromptedFunctions,
        pictures: Pictures,
    ) -> None:
        self._registry = registry
        self._catalog = catalog
        self._owners = owners
        self._formats = formats
        self._prompted = prompted
        self._pictures = pictures

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
        call = Call(request, context, self._pictures, prompted=self._prompted)
        first, batches = await begin(self._owners, call)
        ending = _Ending(self._formats.reader(call))
        try:
            if call.replaced is not None:
                replaced = pb.GenerationEvent(model_replaced=call.replaced)
                yield pb.GenerateMessageResponse(events=[replaced])
            if taken := ending.take(first):
                yield _response(call, taken)
            async for events in batches:
                if taken := ending.take(events):
                    yield _response(call, taken)
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
        call = Call(
            request.generation, context, self._pictures, whole=True, prompted=self._prompted
        )
        try:
            found = await whole(self._owners, call)
            ending = _Ending(self._formats.reader(call))
            events = ending.take(found)
            ending.check()
        except HeddleError as error:
            error.metadata.setdefault("provider", call.connector)
            raise
        response = pb.GenerateWholeMessageResponse()
        if call.replaced is not None:
            response.events.add(model_replaced=call.replaced)
        add_events(response.events, events, call.substitute)
        return response

    async def GetPicture(
        self, request: pb.GetPictureRequest, context: Context
    ) -> pb.GetPictureResponse:
        """Return a picture of the caller's."""
        found = await self._pictures.get(caller().identity, request.name)
        return pb.GetPictureResponse(picture=to_picture(found))


class _Ending:
    """Sees that an answer ends as the contract says: with one `Done`, and nothing after it."""

    # No generator: a layer of those costs every token more than all that is done here.
    __slots__ = ("_done", "_written")

    def __init__(self, written: WrittenCalls | None) -> None:
        self._done = False
        self._written = written

    def take(self, events: Sequence[Event]) -> Sequence[Event]:
        """Return what of `events` belongs to the answer, written calls as calls."""
        if self._done:
            return ()
        for number, event in enumerate(events):
            if type(event) is Done:
                self._done = True
                events = events[: number + 1]
                break
        return events if self._written is None else self._written.take(events)

    def check(self) -> None:
        """Raise an error if the end did not come."""
        if not self._done:
            raise ProviderGarbledError("The provider's answer ended before it was complete.")


def _response(call: Call, events: Sequence[Event]) -> pb.GenerateMessageResponse:
    response = pb.GenerateMessageResponse()
    add_events(response.events, events, call.substitute)
    return response


def _model(listing: Listing, model: Model) -> pb.Model:
    return pb.Model(
        ref=ModelRef(connector=listing.connector, model=model.name),
        title=model.title or model.name,
        input_kinds=[_KINDS[kind] for kind in model.input_kinds],
    )
