"""Makes the models and the storage that the settings name. No other module names them."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from heddle_knowledge.models.interpreters import (
    Interpreter,
    TextInterpreter,
    VisionModel,
)
from heddle_knowledge.models.server import ModelServer
from heddle_knowledge.settings import EmbeddingServer, KnowledgeSettings

if TYPE_CHECKING:  # these load numpy, which a service without knowledge never needs
    from heddle_knowledge.embedders.embedding import Embedder
    from heddle_knowledge.pages.models import PageModel
    from heddle_knowledge.pages.reader import PageReader
    from heddle_knowledge.searching.ranking import Reranker


@dataclass(frozen=True, slots=True)
class Storage:
    """The place where a knowledge store holds its data."""

    place: Path | str = field(repr=False)
    """A folder, or the address of a server, which may hold a password."""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The further options of an object store."""


@asynccontextmanager
async def get_embeddings(
    settings: KnowledgeSettings, http: httpx.AsyncClient
) -> "AsyncGenerator[Sequence[Embedder]]":
    """Yield what makes vectors of texts: the one that was chosen, and the others.

    The service's own and the earlier ones are among them, so that what they embedded can still be
    searched.

    Args:
        settings: Which, and where.
        http: For the operator's own servers.
    """
    from heddle_knowledge.embedders.local_embedders import (  # noqa: PLC0415 (slow)
        LOCAL_MODELS,
        LocalEmbedder,
    )

    async with AsyncExitStack() as opened:
        local = [await opened.enter_async_context(LocalEmbedder(it)) for it in LOCAL_MODELS]
        servers = dict(settings.embeddings_servers) if settings.providers != "local" else {}
        if settings.remote(settings.embeddings_url):
            servers = {settings.embeddings_model: _main_server(settings)} | servers
        remote = [_remote_embedder(http, *each) for each in servers.items()]
        yield [*remote, *local] if settings.remote(settings.embeddings_url) else [*local, *remote]


def _server(
    settings: KnowledgeSettings, http: httpx.AsyncClient, provider: str, who: str
) -> ModelServer:
    """Return the server that the settings `PROVIDER_url`, `..._key` and `..._model` name."""
    url, key, model = (getattr(settings, f"{provider}_{part}") for part in ("url", "key", "model"))
    return ModelServer(http, url, key.get_secret_value(), model, f"the {who}'s server")


def _main_server(settings: KnowledgeSettings) -> EmbeddingServer:
    """Return the server that the settings `embeddings_...` name."""
    return EmbeddingServer(
        url=settings.embeddings_url,
        dimension=settings.embeddings_dimension,
        key=settings.embeddings_key,
        tokens=settings.embeddings_tokens,
        api=settings.embeddings_api,
        query_prefix=settings.embeddings_query_prefix,
        passage_prefix=settings.embeddings_passage_prefix,
        threshold=settings.embeddings_threshold,
    )


def _remote_embedder(http: httpx.AsyncClient, model: str, server: EmbeddingServer) -> "Embedder":
    from heddle_knowledge.models.embeddings import RemoteEmbedder  # noqa: PLC0415 (slow)

    key, who = server.key.get_secret_value(), "the embedding model's server"
    return RemoteEmbedder(
        ModelServer(http, server.url, key, model, who),
        server.dimension,
        server.tokens,
        server.api,
        server.query_prefix,
        server.passage_prefix,
        server.threshold,
    )


def get_vectordb(settings: KnowledgeSettings) -> Storage:
    """Return the storage of the knowledge store."""
    url = settings.store_url.get_secret_value()
    if not settings.remote(url):
        return Storage(settings.data_dir)
    options = {key: value.get_secret_value() for key, value in settings.store_options.items()}
    return Storage(url, options)


def get_reranker(settings: KnowledgeSettings, http: httpx.AsyncClient) -> "Reranker | None":
    """Return the reranking model, if there is one."""
    if not settings.remote(settings.reranker_url):
        return None
    from heddle_knowledge.models.reranking import RemoteReranker  # noqa: PLC0415 (slow)

    return RemoteReranker(_server(settings, http, "reranker", "reranking model"))


def get_visual_search(
    settings: KnowledgeSettings, http: httpx.AsyncClient, reader: "PageReader"
) -> "PageModel":
    """Return the model that ranks pages.

    Args:
        settings: Which, and where.
        http: For the operator's own servers.
        reader: Reads pages for the one that does not see.
    """
    if not settings.remote(settings.visual_search_url):
        from heddle_knowledge.pages.models import OcrPageModel  # noqa: PLC0415 (slow)

        return OcrPageModel(reader)
    from heddle_knowledge.models.multivectors import RemotePageModel  # noqa: PLC0415 (slow)

    server = _server(settings, http, "visual_search", "visual search model")
    return RemotePageModel(server, settings.visual_search_dimension, settings.visual_search_api)


def get_vlm(settings: KnowledgeSettings, http: httpx.AsyncClient) -> Interpreter:
    """Return the interpreter of pictures of pages."""
    if not settings.remote(settings.vlm_url):
        return TextInterpreter()
    return VisionModel(_server(settings, http, "vlm", "vision model"))
