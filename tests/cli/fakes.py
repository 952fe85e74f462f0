"""Small services for the command to talk to, behind the real boundary of every service."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from heddle.assistant.v1 import assistant_pb2, assistant_pb2_grpc
from heddle.connector.v1 import connector_pb2, connector_pb2_grpc
from heddle.knowledge.v1 import knowledge_pb2, knowledge_pb2_grpc
from heddle.orchestrator.v1 import orchestrator_pb2, orchestrator_pb2_grpc
from heddle.tool.v1 import tool_pb2, tool_pb2_grpc
from heddle_runtime.contract.paging import page
from heddle_runtime.contract.struct_codec import from_struct, to_struct
from heddle_runtime.errors import (
    AlreadyExistsError,
    HeddleError,
    InvalidRequestError,
    NotFoundError,
    Violation,
)


@dataclass
class Knowledge(knowledge_pb2_grpc.KnowledgeServiceServicer):
    """Collections in memory. A document that contains `garbled` cannot be read."""

    collections: dict[str, dict[str, str]] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    made: dict[str, knowledge_pb2.Collection] = field(default_factory=dict)
    """The collections as they were asked for."""
    media_types: dict[str, str] = field(default_factory=dict)
    belongings: list[tuple[dict[str, str], int]] = field(default_factory=list)
    """The metadata of each ingestion, and its time in seconds."""
    labels: dict[str, dict[str, str]] = field(default_factory=dict)
    """The metadata of each document."""
    failure: HeddleError | None = None
    """What every ingestion fails with."""
    company: int = 1
    """How many ingestions must have come before any of them goes on."""
    begun: int = 0

    async def CreateCollection(
        self, request: knowledge_pb2.CreateCollectionRequest, context: object
    ) -> knowledge_pb2.CreateCollectionResponse:
        requested = request.collection
        if requested.name in self.collections:
            raise AlreadyExistsError(f"There is a collection {requested.name!r} already.")
        self.collections[requested.name] = {}
        self.titles[requested.name] = requested.title
        self.made[requested.name] = requested
        return knowledge_pb2.CreateCollectionResponse(collection=requested)

    async def GetCollection(
        self, request: knowledge_pb2.GetCollectionRequest, context: object
    ) -> knowledge_pb2.GetCollectionResponse:
        return knowledge_pb2.GetCollectionResponse(collection=self._collection(request.name))

    async def ListCollections(
        self, request: knowledge_pb2.ListCollectionsRequest, context: object
    ) -> knowledge_pb2.ListCollectionsResponse:
        found, token = page(self.collections, str, 2, request.page_token)  # small, to have pages
        return knowledge_pb2.ListCollectionsResponse(
            collections=[self._collection(name) for name in found], next_page_token=token
        )

    async def DeleteCollection(
        self, request: knowledge_pb2.DeleteCollectionRequest, context: object
    ) -> knowledge_pb2.DeleteCollectionResponse:
        self.collections.pop(request.name, None)
        return knowledge_pb2.DeleteCollectionResponse()

    async def IngestDocument(
        self, request: knowledge_pb2.IngestDocumentRequest, context: object
    ) -> AsyncIterator[knowledge_pb2.IngestDocumentResponse]:
        if self.failure is not None:
            raise self.failure
        if b"garbled" in request.data:
            raise InvalidRequestError("The document cannot be read as text.")
        self.begun += 1
        while self.begun < self.company:
            await asyncio.sleep(0.01)
        documents = self.collections[request.collection]
        digest = hashlib.sha256(request.data).hexdigest()
        known = documents.get(request.name)
        documents[request.name] = digest
        self.media_types[request.name] = request.media_type
        self.labels[request.name] = dict(request.metadata)
        self.belongings.append((dict(request.metadata), request.document_time.seconds))
        for stage in ("parsing", "embedding"):
            yield knowledge_pb2.IngestDocumentResponse(
                progress=knowledge_pb2.IngestProgress(stage=stage, done=1, total=2)
            )
        yield knowledge_pb2.IngestDocumentResponse(
            ingested=knowledge_pb2.Ingested(
                document=knowledge_pb2.Document(name=request.name, passage_count=2),
                replaced=known not in (None, digest),
                unchanged=known == digest,
            )
        )

    async def ListDocuments(
        self, request: knowledge_pb2.ListDocumentsRequest, context: object
    ) -> knowledge_pb2.ListDocumentsResponse:
        names = self.collections[request.collection]
        items, token = page(names, str, 2, request.page_token)
        documents = [
            knowledge_pb2.Document(name=it, sha256=names[it], metadata=self.labels[it])
            for it in items
        ]
        return knowledge_pb2.ListDocumentsResponse(documents=documents, next_page_token=token)

    async def DeleteDocument(
        self, request: knowledge_pb2.DeleteDocumentRequest, context: object
    ) -> knowledge_pb2.DeleteDocumentResponse:
        del self.collections[request.collection][request.name]
        return knowledge_pb2.DeleteDocumentResponse()

    async def SearchCollections(
        self, request: knowledge_pb2.SearchCollectionsRequest, context: object
    ) -> knowledge_pb2.SearchCollectionsResponse:
        passage = knowledge_pb2.Passage(
            text=f"{request.query}?\nYes.\x1b[31m",
            similarity=0.8125,
            document="guide.pdf",
            headings=["Weaving", "Heddles"],
            page=3,
        )
        response = knowledge_pb2.SearchCollectionsResponse()
        for name in request.collections:
            response.results.add(collection=name, passages=[passage] * request.top_k)
        return response

    def _collection(self, name: str) -> knowledge_pb2.Collection:
        if name not in self.collections:
            raise NotFoundError(f"No collection is named {name!r}.")
        return knowledge_pb2.Collection(
            name=name,
            title=self.titles.get(name, ""),
            backend="embedded",
            document_count=len(self.collections[name]),
        )


class Tools(tool_pb2_grpc.ToolServiceServicer):
    """One tool, which wants `top_k` to be a positive number, and a plugin that is broken."""

    async def ListTools(
        self, request: tool_pb2.ListToolsRequest, context: object
    ) -> tool_pb2.ListToolsResponse:
        return tool_pb2.ListToolsResponse(
            tools=[
                tool_pb2.Tool(
                    name="simple_rag",
                    category="rag",
                    origin="builtin",
                    description="Finds.",
                    isolation=tool_pb2.TOOL_ISOLATION_SERVICE,
                )
            ],
            problems=[tool_pb2.PluginProblem(origin="folder:odd.py", message="line 1: no tool")],
        )

    async def ValidateToolConfig(
        self, request: tool_pb2.ValidateToolConfigRequest, context: object
    ) -> tool_pb2.ValidateToolConfigResponse:
        if request.name != "simple_rag":
            raise NotFoundError(f"No tool is named {request.name!r}.")
        config = {"threshold": 0.5} | from_struct(request.config)
        if config.get("top_k", 1) < 1:
            violation = {"field": "config.top_k", "description": "must be 1 or more"}
            return tool_pb2.ValidateToolConfigResponse(violations=[violation])
        return tool_pb2.ValidateToolConfigResponse(effective_config=to_struct(config))

    async def InspectMcpServer(
        self, request: tool_pb2.InspectMcpServerRequest, context: object
    ) -> tool_pb2.InspectMcpServerResponse:
        if not request.url:
            raise InvalidRequestError("The request names no server.")
        find = tool_pb2.InspectedMcpTool(
            name="find",
            description=f"Finds for {request.organization}.\x1b[31m",
            input_schema_json='{"type": "object"}',
            pin="sha256:12",
        )
        long = tool_pb2.InspectedMcpTool(name="long", problem="It is too long.")
        return tool_pb2.InspectMcpServerResponse(tools=[find, long])


class Connectors(connector_pb2_grpc.ConnectorServiceServicer):
    """One model, and a provider that is down."""

    async def ListModels(
        self, request: connector_pb2.ListModelsRequest, context: object
    ) -> connector_pb2.ListModelsResponse:
        ref = assistant_pb2.ModelRef(connector=request.connector or "openai", model="m1")
        return connector_pb2.ListModelsResponse(
            models=[connector_pb2.Model(ref=ref, title="Model one")],
            problems=[connector_pb2.ConnectorProblem(connector="ollama", message="is down")],
        )


class Assistants(assistant_pb2_grpc.AssistantServiceServicer):
    """One assistant."""

    async def ListAssistants(
        self, request: assistant_pb2.ListAssistantsRequest, context: object
    ) -> assistant_pb2.ListAssistantsResponse:
        summary = assistant_pb2.AssistantSummary(id="bio", name="biology", title="Biology 101")
        return assistant_pb2.ListAssistantsResponse(assistants=[summary])


@dataclass
class Orchestrator(orchestrator_pb2_grpc.OrchestratorServiceServicer):
    """Plays the events of a script; then waits, if it is told to, until nobody listens."""

    script: list[orchestrator_pb2.RunEvent] = field(default_factory=list)
    waits: bool = False
    seen: list[orchestrator_pb2.RunCompletionRequest] = field(default_factory=list)
    abandoned: bool = False

    async def RunCompletion(
        self, request: orchestrator_pb2.RunCompletionRequest, context: object
    ) -> AsyncIterator[orchestrator_pb2.RunCompletionResponse]:
        self.seen.append(request)
        if request.assistant_reference == "nobody":
            violations = [Violation("assistant_reference", "names nobody")]
            raise InvalidRequestError("No such assistant.", violations, retry_after=2.0)
        try:
            for event in self.script:
                yield orchestrator_pb2.RunCompletionResponse(events=[event])
            if self.waits:
                await asyncio.sleep(60)
        finally:
            self.abandoned = self.waits
