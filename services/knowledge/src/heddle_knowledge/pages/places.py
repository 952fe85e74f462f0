"""The place of pages: a folder of one machine, or a database that all replicas use.

Both are used in the same way, also by commands that copy collections and back them up: `documents`
and `whole_page` read all that a collection has, and `expect`, `add` and `finish` write it. All of
these may be repeated after an interruption.

Methods that are not `async` block: call them from a thread.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

from heddle_knowledge.pages.shapes import DrawnPage, PagedDocument, Picture, StoredPage, WholePage

if TYPE_CHECKING:  # a service that stores no documents does not load numpy
    import numpy as np
    from numpy.typing import NDArray

    from heddle_knowledge.embedders.embedding import Vectors


class CollectionPages(Protocol):
    """The pages of one collection, by the SHA-256 of the document that they are of."""

    def documents(self) -> dict[str, PagedDocument]:
        """Return by SHA-256 the documents that have pages here, or are to have."""

    def numbers(self, sha256: str) -> list[int]:
        """Return the stored pages of a document, counted from 1, in their order."""

    def whole_page(self, sha256: str, page: int) -> WholePage | None:
        """Return all that is stored of a page."""

    def expect(self, sha256: str, maker: str, pages: int) -> list[int]:
        """Return the pages of a document that are not stored yet, counted from 1.

        Args:
            sha256: The document.
            maker: What its pages depend on besides. Pages of another maker are deleted.
            pages: How many it has.
        """

    def add(
        self, sha256: str, pages: Sequence[DrawnPage], words: "Sequence[NDArray[np.float16]]"
    ) -> None:
        """Store pages of an expected document that are not stored yet, durably.

        Args:
            sha256: The document.
            pages: With their pictures.
            words: For each page the vectors of its words.
        """

    def finish(self, sha256: str) -> bool:
        """Store that a document needs no more work; say whether it is still there."""

    def is_whole(self, sha256: str, maker: str) -> bool:
        """Return whether all pages of a document are stored, those of this maker."""

    def pictured(self, documents: Collection[str]) -> frozenset[tuple[str, int]]:
        """Return the pages of some documents that have a picture."""

    def count_pictures(self) -> int:
        """Return the number of pages with a picture."""

    def scanned(self, sha256: str) -> Mapping[int, str]:
        """Return the texts of the pages of a document that were read off their pictures."""

    def picture(self, sha256: str, page: int) -> Picture | None:
        """Return the picture of a page, if there is one."""

    def page(self, sha256: str, page: int) -> DrawnPage | None:
        """Return a page without its picture."""

    def listed(self, sha256: str, first: int, last: int) -> dict[int, tuple[str, bool]]:
        """Return of stored pages of a document their text, and whether they have a picture."""

    def makers(self) -> set[str]:
        """Return the versions of models and readers on which the stored pages depend."""

    def matching(
        self, query: str, most: int, only: Collection[str] | None = None
    ) -> dict[int, float]:
        """Return pages with a word of the question: by id their BM25, the best first.

        Args:
            query: The question.
            most: The maximum number of pages.
            only: The documents; None for all.
        """

    def matched_words(self, query: str, ids: Collection[int]) -> dict[int, float]:
        """Return the share of a question's words in each page, weighted by their rarity.

        Args:
            query: The question.
            ids: The pages.

        Returns:
            By id: 1 stands for the three rarest words, each once on a page of average length.
        """

    def nearest(
        self, mean: "Vectors", most: int, only: Collection[str] | None = None
    ) -> Collection[int]:
        """Return the ids of the pages whose mean vector is nearest to another one.

        Args:
            mean: The other one, of length 1.
            most: The maximum number of pages.
            only: The documents; None for all.
        """

    def read(self, ids: Collection[int], dim: int) -> list[StoredPage]:
        """Return pages by their ids, of those that are still there."""

    def forget(self, documents: Sequence[str]) -> None:
        """Delete the pages of documents."""


class PagePlace(Protocol):
    """The pages of all collections."""

    def of(self, collection: str) -> CollectionPages:
        """Return the pages of the collection with an id, if there are any. Does not block."""

    def collections(self) -> set[str]:
        """Return the ids of the collections that have pages."""

    def holding(self, collection: str, sha256: str) -> AbstractAsyncContextManager[None]:
        """Exclude all others that write the pages of a document; wait for them."""

    async def forget_unheld(
        self, collection: str, sha256: str, is_gone: Callable[[], Awaitable[bool]]
    ) -> None:
        """Delete the pages of a document, unless another ingestion holds them.

        Args:
            collection: The collection.
            sha256: The document.
            is_gone: Says whether the document is gone, which is certain while no other ingestion
                holds them.
        """

    def drop(self, collection: str) -> None:
        """Delete all pages of a collection."""

    def purge(self, collection: str) -> None:
        """Leave nothing of deleted pages of a collection in files."""

    def sweep(self) -> None:
        """Delete what a crash left behind that belongs to no page."""
