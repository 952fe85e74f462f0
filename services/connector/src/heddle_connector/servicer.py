"""`heddle.connector.v1.ConnectorService`."""

from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Sequence
from typing import Any

from heddle.assistant.v1.assistant_pb2 import ModelRef
from heddle.connector.v1 import connector_pb2 as pb
from heddle.connector.v1 import connector_pb2_grpc as pb_grpc
from heddle_runtime.call_metadata import Context, caller, remaining
from heddle_runtime.errors import HeddleError, ProviderGarbledError
from heddle_runtime.limits import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE
from heddle_runtime.paging import page
from heddle_runtime.telemetry import content

from heddle_connector.generation import tracing
from heddle_connector.generation.call import Call
from heddle_connector.generation.event_encoding import add_events
from heddle_connector.generation.events import Done, Event, Usage
from heddle_connector.generation.generated_images import GeneratedImages
from heddle_connector.generation.model_text import ModelText, ToolCallParsers
from heddle_connector.generation.prompted_tools import PromptedTools
from heddle_connector.generation.traced_texts import NotedBatches
from heddle_connector.routing.fallback import complete, start_stream
from heddle_connector.routing.model_catalogue import ModelCatalogue
from heddle_connector.routing.registry import Registry
from heddle_connector.routing.tenant_connectors import TenantConnectors
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
        catalog: ModelCatalogue,
        tenants: TenantConnectors,
        parsers: ToolCallParsers,
        prompted_tools: PromptedTools,
        images: GeneratedImages,
        stall_seconds: float,
    ) -> None:
        self._registry = registry
        self._catalog = catalog
        self._tenants = tenants
        self._parsers = parsers
        self._prompted_tools = prompted_tools
        self._images = images
        self._stall_seconds = stall_seconds

    async def ListConnectors(
        self, request: pb.ListConnectorsRequest, context: Context
    ) -> pb.ListConnectorsResponse:
        """List the connectors that the caller's organisation can use or set up.

        The first page also lists the plugins that did not load.
        """
        plugins = self._registry.plugins
        connectors = await self._tenants.available(caller().identity.organization)
        page_of_connectors, next_page_token = page(
            [
                pb.Connector(
                    name=name,
                    description=plugins.loaded[name].description,
                    origin=plugins.origins[name],
                    models=models,
                    calls_functions=plugins.loaded[name].calls_functions,
                    streams=plugins.loaded[name].streams,
                    generates_images=plugins.loaded[name].generates_images,
                )
                for name, models in connectors.items()
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
            connectors=page_of_connectors,
            next_page_token=next_page_token,
            problems=problems,
        )

    async def ListModels(
        self, request: pb.ListModelsRequest, context: Context
    ) -> pb.ListModelsResponse:
        """List the models, and the connectors that could not list theirs."""
        organization = caller().identity.organization
        accessible = await self._tenants.accessible(organization, request.connector)
        lists = await self._catalog.list_models(accessible, remaining(context))
        models, next_page_token = page(
            [_model(each.connector, model) for each in lists for model in each.models],
            # "/" sorts before every character of a connector's name
            lambda item: f"{item.ref.connector}/{item.ref.model}",
            request.page_size,
            request.page_token,
            default=DEFAULT_PAGE_SIZE,
            maximum=MAX_PAGE_SIZE,
        )
        problems = [
            pb.ConnectorProblem(connector=each.connector, message=each.problem)
            for each in lists
            if each.problem
        ]
        return pb.ListModelsResponse(
            models=models, next_page_token=next_page_token, problems=problems
        )

    def GenerateMessage(
        self, request: pb.GenerateMessageRequest, context: Context
    ) -> AsyncGenerator[pb.GenerateMessageResponse, None]:
        """Stream the events of the connector."""
        return tracing.traced_stream(self._stream(request, context), request)

    async def _stream(
        self, request: pb.GenerateMessageRequest, context: Context
    ) -> AsyncGenerator[pb.GenerateMessageResponse, None]:
        call = Call(
            request,
            context,
            self._images,
            prompted_tools=self._prompted_tools,
            stall_seconds=self._stall_seconds,
        )
        texts = await self._tenants.traced_texts(call) if content.is_on() else None
        with call.inference as inference:
            first, batches = await start_stream(self._tenants, call)
            inference.first_chunk()
            read: AsyncIterator[Sequence[Event]] = batches
            if texts is not None:
                texts.take(first)
                read = NotedBatches(batches, texts)
            answer = _Answer(self._parsers.reader(call))
            try:
                if call.replaced is not None:
                    replaced = pb.GenerationEvent(model_replaced=call.replaced)
                    yield pb.GenerateMessageResponse(events=[replaced])
                if events := answer.take(first):
                    yield _response(call, events)
                async for batch in read:
                    if events := answer.take(batch):
                        yield _response(call, events)
                answer.check()
                inference.usage = answer.usage
                tracing.describe_answer(call, answer.usage)
                if texts is not None:
                    texts.end()
            except HeddleError as error:
                if events := answer.interrupt():
                    yield _response(call, events)
                error.metadata.setdefault("provider", call.connector)
                raise
            finally:
                await batches.aclose()

    def GenerateWholeMessage(
        self, request: pb.GenerateWholeMessageRequest, context: Context
    ) -> Coroutine[Any, Any, pb.GenerateWholeMessageResponse]:
        """Return all events of the connector at the end of the answer."""
        return tracing.traced_call(self._whole(request, context), request.generation)

    async def _whole(
        self, request: pb.GenerateWholeMessageRequest, context: Context
    ) -> pb.GenerateWholeMessageResponse:
        call = Call(
            request.generation,
            context,
            self._images,
            whole=True,
            prompted_tools=self._prompted_tools,
            stall_seconds=self._stall_seconds,
        )
        texts = await self._tenants.traced_texts(call) if content.is_on() else None
        try:
            with call.inference as inference:
                events = await complete(self._tenants, call)
                if texts is not None:
                    texts.take(events)
                    texts.end()
                answer = _Answer(self._parsers.reader(call))
                events = answer.take(events)
                answer.check()
                inference.usage = answer.usage
                tracing.describe_answer(call, answer.usage)
        except HeddleError as error:
            error.metadata.setdefault("provider", call.connector)
            raise
        response = pb.GenerateWholeMessageResponse()
        if call.replaced is not None:
            response.events.add(model_replaced=call.replaced)
        add_events(response.events, events, call.substitute)
        return response

    async def GetGeneratedImage(
        self, request: pb.GetGeneratedImageRequest, context: Context
    ) -> pb.GetGeneratedImageResponse:
        """Return a generated image of the caller."""
        image = await self._images.get(caller().identity, request.name)
        return pb.GetGeneratedImageResponse(image=image)


class _Answer:
    """Enforces the end of an answer: exactly one `Done`, and nothing after it."""

    # Not a generator: another generator would cost each token more than the work done here.
    __slots__ = ("_done", "_text", "usage")

    def __init__(self, text: ModelText) -> None:
        self.usage: Usage | None = None
        """What the answer used, if the provider reports it."""
        self._done = False
        self._text = text

    def take(self, events: Sequence[Event]) -> Sequence[Event]:
        """Return the events up to `Done`, with what is written into the text as events."""
        if self._done:
            return ()
        for number, event in enumerate(events):
            if type(event) is Done:
                self._done = True
                self.usage = event.usage
                events = events[: number + 1]
                break
        return self._text.take(events)

    def interrupt(self) -> Sequence[Event]:
        """Return the events of the text that was held back until now."""
        return () if self._done else self._text.interrupt()

    def check(self) -> None:
        """Raise an error if `Done` is missing."""
        if not self._done:
            raise ProviderGarbledError("The provider's answer ended before it was complete.")


def _response(call: Call, events: Sequence[Event]) -> pb.GenerateMessageResponse:
    response = pb.GenerateMessageResponse()
    add_events(response.events, events, call.substitute)
    return response


def _model(connector: str, model: Model) -> pb.Model:
    return pb.Model(
        ref=ModelRef(connector=connector, model=model.name),
        title=model.title or model.name,
        input_kinds=[_KINDS[kind] for kind in model.input_kinds],
    )
