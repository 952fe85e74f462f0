"""Calls that turn texts into vectors."""

from collections.abc import Iterator

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.errors import InvalidRequestError, NotSetUpError, Violation
from heddle_runtime.identity.call_metadata import Context

from heddle_knowledge.embedders.tracing import traced_embedding
from heddle_knowledge.service.calls import Calls, check_enums, refuse

_MAX_TEXTS = 256
_MESSAGE = "The texts cannot be embedded."
_MAX_TEXT_CHARACTERS = 32_000


class EmbeddingCalls(Calls):
    """The part of the contract about vectors."""

    async def EmbedTexts(
        self, request: pb.EmbedTextsRequest, context: Context
    ) -> pb.EmbedTextsResponse:
        """Embed texts with a model of the service."""
        self._backends.grants.require("run_tools")
        refuse(_violations(request), _MESSAGE)
        embedders = {
            embedder.info().model: embedder for embedder in await self._backends.embedders()
        }
        model = request.model or next(iter(embedders), "")
        if not model:
            raise NotSetUpError("The service has no embedding model.")
        if model not in embedders:
            names = ", ".join(map(repr, embedders))
            violation = Violation("model", f"must be one of {names}")
            raise InvalidRequestError(_MESSAGE, [violation])
        passages = request.kind == pb.EMBEDDING_KIND_PASSAGE
        embedder = embedders[model]
        vectors = await traced_embedding(
            embedder.embed(request.texts, "passage" if passages else "query"), embedder
        )
        return pb.EmbedTextsResponse(
            embeddings=[pb.Embedding(values=vector) for vector in vectors.tolist()], model=model
        )


def _violations(request: pb.EmbedTextsRequest) -> Iterator[Violation]:
    if not 1 <= len(request.texts) <= _MAX_TEXTS:
        yield Violation("texts", f"must be 1 to {_MAX_TEXTS}")
    elif max(map(len, request.texts)) > _MAX_TEXT_CHARACTERS:
        yield Violation("texts", f"must each have at most {_MAX_TEXT_CHARACTERS:,} characters")
    yield from check_enums(request)
