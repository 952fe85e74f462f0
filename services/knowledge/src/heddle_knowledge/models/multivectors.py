"""Models of another server that see pages: ColQwen behind vLLM, or Jina v4.

Of a picture they make a vector for each of its patches, of a question one for each of its words;
`PageModel` says what becomes of these.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from heddle_knowledge.embedders.embedding import Vectors, unit
from heddle_knowledge.errors import EmbeddingError
from heddle_knowledge.models.server import ModelServer
from heddle_knowledge.pages.models import PageModelInfo
from heddle_knowledge.pages.shapes import DrawnPage

Shape = Literal["vllm", "jina"]
_MOST_VECTORS = 4_096
_LONGEST_QUERY = 8_000
_PROMPT = "Describe the image."  # what ColPali's family was trained with


@dataclass(frozen=True, slots=True)
class RemotePageModel:
    """A page model of vLLM's pooling API or Jina's embeddings API."""

    server: ModelServer
    dimension: int
    shape: Shape

    def info(self) -> PageModelInfo:
        """Return the identity of the model. The server does not report its version."""
        return PageModelInfo(self.server.model, self.dimension, self.shape, visual=True)

    async def embed_pages(self, pages: Sequence[DrawnPage]) -> list[NDArray[np.float16]]:
        """Embed the pictures of pages, one by one; nothing for a page without.

        Raises:
            EmbeddingError: The server fails, or answers something else than such vectors.
        """
        matrices = []
        for page in pages:
            vectors = np.empty((0, self.dimension), np.float32)
            if page.picture:
                vectors = await self._post(*self._of_picture(page.picture))
            matrices.append(vectors.astype(np.float16))
        return matrices

    async def embed_query(self, query: str) -> Vectors:
        """Embed a question.

        Raises:
            EmbeddingError: See `embed_pages`.
        """
        text = query[:_LONGEST_QUERY]
        if self.shape == "jina":
            return await self._post("embeddings", _jina({"text": text}, "retrieval.query"))
        return await self._post("pooling", {"input": text, "task": "token_embed"})

    async def aclose(self) -> None:
        """Do nothing: the connections are the service's."""

    def _of_picture(self, picture: bytes) -> tuple[str, dict[str, Any]]:
        encoded = base64.b64encode(picture).decode("ascii")
        if self.shape == "jina":
            return "embeddings", _jina({"image": encoded}, "retrieval.passage")
        seen = {"type": "image_url", "image_url": {"url": f"data:image/webp;base64,{encoded}"}}
        content = [seen, {"type": "text", "text": _PROMPT}]
        messages = [{"role": "user", "content": content}]
        return "pooling", {"messages": messages, "task": "token_embed"}

    async def _post(self, path: str, body: Mapping[str, Any]) -> Vectors:
        reply = await self.server.post(path, body, _MOST_VECTORS * self.dimension)
        try:
            (only,) = reply["data"]
            # vLLM calls it `data`, Jina `embeddings`, and some of its workers `embedding`.
            values = next(only[it] for it in ("data", "embeddings", "embedding") if it in only)
            vectors = np.array(values, dtype=np.float32)
        except (KeyError, TypeError, ValueError, StopIteration):
            raise self.server.unreadable("it holds no list of vectors") from None
        if problem := _problem_of(vectors):
            raise self.server.unreadable(problem)
        if vectors.shape[1] != self.dimension:
            raise EmbeddingError(
                f"The model {self.server.model!r} makes vectors of {vectors.shape[1]} numbers, not "
                f"{self.dimension}. Set HEDDLE_KNOWLEDGE_VISUAL_SEARCH_DIMENSION."
            )
        if not np.all(np.isfinite(vectors)):
            raise self.server.unreadable("a vector is not finite")
        return unit(vectors)


def _problem_of(vectors: Vectors) -> str:
    if vectors.ndim != 2 or not len(vectors):  # noqa: PLR2004 - rows and columns
        return "it holds no list of vectors, as of `return_multivector`"
    if len(vectors) > _MOST_VECTORS:
        return f"it holds {len(vectors):,} vectors of one page, more than {_MOST_VECTORS:,}"
    return ""


def _jina(what: Mapping[str, str], task: str) -> dict[str, Any]:
    return {
        "task": task,
        "input": [what],
        "embedding_type": "float",
        "return_multivector": True,
        "truncate": True,
    }
