"""The pages of documents: pictures, what was read on them, and the vectors of their words."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

import msgspec

from heddle_knowledge.copying.interface import Digests, Key, digest
from heddle_knowledge.copying.side import Side
from heddle_knowledge.pages.encoding import written_words
from heddle_knowledge.pages.places import CollectionPages
from heddle_knowledge.pages.shapes import PagedDocument, WholePage

_encode = msgspec.msgpack.Encoder().encode


class PagePart:
    """An item is a document that has pages: all of them."""

    name = "documents with pages"

    async def digests(self, side: Side) -> Digests:
        """Return the documents with pages of one side."""
        digests: dict[Key, str] = {}
        for record in await side.embedded():
            pages = side.pages.of(record.id)
            for document in (await asyncio.to_thread(pages.documents)).values():
                content = await asyncio.to_thread(_digest, pages, document)
                digests[record.id, document.sha256] = content
        return digests

    async def copy(self, keys: Sequence[Key], source: Side, target: Side) -> AsyncGenerator[int]:
        """Copy documents with pages. One that is interrupted is not whole, and copied again."""
        for done, (collection, sha256) in enumerate(keys, start=1):
            reading, writing = source.pages.of(collection), target.pages.of(collection)
            async with target.pages.holding(collection, sha256):
                await asyncio.to_thread(_copy, reading, writing, sha256)
            yield done

    async def delete(self, keys: Sequence[Key], target: Side) -> None:
        """Delete the pages of documents."""
        for collection, sha256 in keys:
            async with target.pages.holding(collection, sha256):
                await asyncio.to_thread(target.pages.of(collection).forget, [sha256])


def _copy(source: CollectionPages, target: CollectionPages, sha256: str) -> None:
    document = source.documents().get(sha256)
    if document is None:  # deleted meanwhile
        return
    target.forget([sha256])
    target.expect(sha256, document.maker, document.pages)
    for number in source.numbers(sha256):
        if (page := source.whole_page(sha256, number)) is not None:
            target.add(sha256, [page.drawn], [page.words])
    if document.whole:
        target.finish(sha256)


def _digest(pages: CollectionPages, document: PagedDocument) -> str:
    whole = (pages.whole_page(document.sha256, it) for it in pages.numbers(document.sha256))
    contents = [content for page in whole if page for content in _contents(page)]
    return digest(_encode((document.maker, document.pages, document.whole)), *contents)


def _contents(page: WholePage) -> tuple[bytes, bytes, bytes]:
    drawn = page.drawn
    figures = [(each.caption, each.text, each.box) for each in drawn.figures]
    described = _encode((drawn.page, drawn.text, figures, drawn.scanned))
    return described, drawn.picture, written_words(page.words)
