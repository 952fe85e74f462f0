"""Work on pages that blocks, in threads."""

import asyncio
import sqlite3
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from heddle_knowledge.errors import StorageError

ResultT = TypeVar("ResultT")
ParametersT = ParamSpec("ParametersT")


async def in_thread(
    work: Callable[ParametersT, ResultT],
    *arguments: ParametersT.args,
    **named: ParametersT.kwargs,
) -> ResultT:
    """Run work in a thread, and return its result.

    Raises:
        StorageError: A disk or a database failed.
    """
    try:
        return await asyncio.to_thread(work, *arguments, **named)
    except (sqlite3.Error, OSError) as error:
        raise StorageError(
            "The pages of a collection could not be read or written. Check the store's "
            "directory: free space, permissions, and the log of the knowledge service."
        ) from error
