"""Finds books in Open Library, or in a catalogue that answers as Open Library does."""

import httpx
from heddle_tools_service.sdk import Source, ToolCall, ToolConfig, ToolResult, tool
from pydantic import Field


class CatalogueConfig(ToolConfig):
    """Which catalogue, and how much of it."""

    url: str = Field(default="https://openlibrary.org", description="Address of the catalogue.")
    limit: int = Field(default=5, ge=1, le=20, description="Books at most.")


@tool(
    "library_catalogue",
    title="Books",
    slot="books",
    modes=("augment", "function"),
    effect="read_only",
)
async def library_catalogue(call: ToolCall[CatalogueConfig], http: httpx.AsyncClient) -> ToolResult:
    """Finds books in a library catalogue by title, author or subject."""
    url = call.config.url.rstrip("/")
    fields = "key,title,author_name,first_publish_year"
    query = {"q": call.query, "limit": str(call.config.limit), "fields": fields}
    response = await http.get(f"{url}/search.json", params=query)
    try:
        books = response.raise_for_status().json()["docs"]
    except (ValueError, KeyError) as error:
        raise httpx.DecodingError("This is no catalogue.") from error  # told like one that is away
    sources = [Source(_line(book), url + book["key"], kind="book") for book in books]
    none = f"The library catalogue has no book for '{call.query}'."
    return ToolResult("\n".join(each.title for each in sources) or none, sources, count=len(books))


def _line(book: dict[str, object]) -> str:
    authors = ", ".join(book.get("author_name") or ["unknown author"])
    return f"{book['title']}, by {authors}, {book.get('first_publish_year', 'undated')}"
