"""`heddle.connector.v1.ConnectorService`."""

from collections.abc import AsyncGenerator, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from heddle.assistant.v1.assistant_pb2 import ModelRef
from heddle.connector.v1 import connector_pb2 as pb
from heddle.connector.v1 import connector_pb2_grpc as pb_grpc
from heddle_runtime.contract.limits import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE
from heddle_runtime.contract.paging import page
from heddle_runtime.contract.unicode_text import valid_text
from heddle_runtime.errors import HeddleError
from heddle_runtime.identity.assistant_owners import AssistantOwners
from heddle_runtime.identity.call_metadata import Context, caller, remaining
from heddle_runtime.identity.callers import home
from heddle_runtime.identity.permissions import may_administer_in, require_service
from heddle_runtime.telemetry import content, spans

from heddle_connector.generation import tracing
from heddle_connector.generation.answer import Answer, is_short
from heddle_connector.generation.call import Call
from heddle_connector.generation.event_encoding import add_events
from heddle_connector.generation.events import Event
from heddle_connector.generation.generated_images import GeneratedImages
from heddle_connector.generation.model_text import ToolCallParsers
from heddle_connector.generation.prompted_tools import PromptedTools
from heddle_connector.generation.traced_texts import TracedTexts, traced_texts
from heddle_connector.routing.fallback import complete, start_stream
from heddle_connector.routing.model_catalogue import ModelCatalogue
from heddle_connector.routing.offers import Offers
from heddle_connector.routing.settings_check import check_provider
from heddle_connector.routing.tenant_connectors import TenantConnectors, no_organization
from heddle_connector.sdk import Model

_KINDS = {
    "image": pb.INPUT_KIND_IMAGE,
    "audio": pb.INPUT_KIND_AUDIO,
    "file": pb.INPUT_KIND_FILE,
}


@dataclass(eq=False, slots=True)
class ConnectorServicer(pb_grpc.ConnectorServiceServicer):
    """Translates between the contract and the connectors."""

    catalog: ModelCatalogue
    tenants: TenantConnectors
    offers: Offers
    parsers: ToolCallParsers
    prompted_tools: PromptedTools
    images: GeneratedImages
    stall_seconds: float
    owners: AssistantOwners

    async def ListConnectors(
        self, request: pb.ListConnectorsRequest, context: Context
    ) -> pb.ListConnectorsResponse:
        """List the connectors that the caller's organisation can use or set up.

        The first page also lists the plugins that did not load.
        """
        if request.organization:
            require_service(caller().identity)
        organization = request.organization or home(caller().identity)
        page_of_connectors, next_page_token = page(
            await self.offers.connectors(organization),
            lambda item: item.name,
            request.page_size,
            request.page_token,
        )
        problems = [
            pb.ConnectorProblem(connector=problem.origin, message=problem.message)
            for problem in ([] if request.page_token else self.tenants.registry.plugins.problems)
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
        accessible = await self.offers.accessible(home(caller().identity), request.connector)
        lists = await self.catalog.list_models(accessible, remaining(context))
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
        settings = await self.tenants.settings.of(home(caller().identity), "")
        return pb.ListModelsResponse(
            models=models,
            next_page_token=next_page_token,
            problems=problems,
            default_model="/".join(self.tenants.default_model(settings) or ()),
        )

    async def CheckProvider(
        self, request: pb.CheckProviderRequest, context: Context
    ) -> pb.CheckProviderResponse:
        """Ask a provider for its models with the settings of a request."""
        if not may_administer_in(caller().identity, request.organization):
            raise no_organization(request.organization)
        return await check_provider(await self.tenants.candidate(request))

    def GenerateMessage(
        self, request: pb.GenerateMessageRequest, context: Context
    ) -> AsyncGenerator[pb.GenerateMessageResponse, None]:
        """Stream the events of the connector."""
        answer = self._stream(request, context)
        if not spans.is_drawn():  # most requests: a name would cost more than the question
            return answer
        return spans.traced_stream(answer, *tracing.span_of(request, stream=True))

    async def _stream(
        self, request: pb.GenerateMessageRequest, context: Context
    ) -> AsyncGenerator[pb.GenerateMessageResponse, None]:
        call = self._call(request, context, whole=False)
        texts = await self._traced_texts(call)
        with call.inference as inference:
            first, batches = await start_stream(self.tenants, call)
            inference.first_chunk()
            answer = Answer(self.parsers.reader(call), texts)
            try:
                if call.replaced is not None:
                    replaced = pb.GenerationEvent(model_replaced=call.replaced)
                    yield pb.GenerateMessageResponse(events=[replaced])
                if events := await answer.take_in_turns(first):
                    yield _response(call, events)
                async for batch in batches:
                    # A token costs no coroutine.
                    short = is_short(batch)
                    events = answer.take(batch) if short else await answer.take_in_turns(batch)
                    if events:
                        yield _response(call, events)
                answer.end(call)
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
        answer = self._whole(request, context)
        if not spans.is_drawn():
            return answer
        return spans.traced_call(answer, *tracing.span_of(request.generation, stream=False))

    async def _whole(
        self, request: pb.GenerateWholeMessageRequest, context: Context
    ) -> pb.GenerateWholeMessageResponse:
        call = self._call(request.generation, context, whole=True)
        texts = await self._traced_texts(call)
        try:
            with call.inference:
                events = await complete(self.tenants, call)
                answer = Answer(self.parsers.reader(call), texts)
                events = await answer.take_in_turns(events)
                answer.end(call)
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
        image = await self.images.get(caller().identity, request.name)
        return pb.GetGeneratedImageResponse(image=image)

    def _call(self, request: pb.GenerateMessageRequest, context: Context, *, whole: bool) -> Call:
        """Return the call of a request whose assistant has the owner whose providers count."""
        if request.HasField("assistant"):
            request = self.owners.checked(request, caller().grant)
        else:
            self.owners.grants.require("manage_assistants")
        return Call(
            request,
            context,
            self.images,
            whole=whole,
            prompted_tools=self.prompted_tools,
            stall_seconds=self.stall_seconds,
        )

    async def _traced_texts(self, call: Call) -> TracedTexts | None:
        return await traced_texts(call, self.tenants.settings) if content.is_on() else None


def _response(call: Call, events: Sequence[Event]) -> pb.GenerateMessageResponse:
    response = pb.GenerateMessageResponse()
    add_events(response.events, events, call.substitute)
    return response


def _model(connector: str, model: Model) -> pb.Model:
    return pb.Model(
        ref=ModelRef(connector=connector, model=valid_text(model.name)),
        title=valid_text(model.title or model.name),
        input_kinds=[_KINDS[kind] for kind in model.input_kinds],
    )
