"""Opens the engine that a setting names; the libraries of the others stay unread."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from heddle_knowledge.engines.lance_loading import defer_messages
from heddle_knowledge.errors import StorageError

if TYPE_CHECKING:  # loads Arrow
    from heddle_knowledge.engines.interface import Engine

_DATABASES = ("postgresql", "postgres")


def is_database(place: str) -> bool:
    """Return whether an address is that of a database."""
    return place.partition("://")[0] in _DATABASES


@asynccontextmanager
async def open_engine(place: str, options: Mapping[str, str]) -> "AsyncGenerator[Engine]":
    """Open what keeps the tables.

    Args:
        place: A folder, `s3://BUCKET/PREFIX` or `postgresql://…`.
        options: What an object store needs besides, as `HEDDLE_KNOWLEDGE_STORE_OPTIONS` holds it.

    Raises:
        StorageError: The place cannot be used, or its kind is not known.
    """
    scheme, separator, _ = place.partition("://")
    if not separator:
        defer_messages()
        await _load("lance")
        from heddle_knowledge.engines.lance import open_folder  # noqa: PLC0415

        async with open_folder(Path(place).resolve()) as folder:  # noqa: ASYNC240 (once)
            yield folder
    elif scheme == "s3":
        defer_messages()
        await _load("lance")
        from heddle_knowledge.engines.lance import open_bucket  # noqa: PLC0415

        async with open_bucket(place, options) as bucket:
            yield bucket
    elif is_database(place):
        await _load("postgres")
        from heddle_knowledge.engines.postgres import open_database  # noqa: PLC0415

        async with open_database(place) as database:
            yield database
    else:
        raise StorageError(
            f"The knowledge store cannot be kept at an address of {scheme!r}. Name a folder, "
            "'s3://BUCKET/PREFIX' or 'postgresql://…'."
        )


async def _load(engine: str) -> None:
    """Import an engine in a thread: other calls of this process go on during the half second."""
    await asyncio.to_thread(import_module, f"heddle_knowledge.engines.{engine}")
