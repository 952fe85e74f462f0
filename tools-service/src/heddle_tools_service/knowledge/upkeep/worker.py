"""The process that puts tables in order: `python -m heddle_tools_service.knowledge.upkeep.worker`.

It has the lowest priority and one thread for computing: searches go first.
"""

import asyncio
import os

import msgspec

from heddle_tools_service.knowledge.errors import CollectionNotFoundError, KnowledgeError
from heddle_tools_service.knowledge.upkeep.upkeep import UpkeepReply, UpkeepRequest
from heddle_tools_service.knowledge.workers.frames import serve

_NICER = 9  # on top of what `serve` does: 19, as low as it gets


def main() -> None:
    """Put in order what the service names, until it goes."""
    os.nice(_NICER)
    serve(_handle)


def _handle(payload: bytes) -> bytes:
    request = msgspec.msgpack.decode(payload, type=UpkeepRequest)
    try:
        asyncio.run(_tidy(request))
        reply = UpkeepReply()
    except CollectionNotFoundError:  # deleted meanwhile
        reply = UpkeepReply()
    except KnowledgeError as error:
        reply = UpkeepReply(error=f"{error} {error.__cause__ or ''}")
    return msgspec.msgpack.encode(reply)


async def _tidy(request: UpkeepRequest) -> None:
    # Loading the engine takes seconds, in which the process already goes when its parent does.
    from heddle_tools_service.knowledge.engines.address import open_engine  # noqa: PLC0415
    from heddle_tools_service.knowledge.shelf import tidy  # noqa: PLC0415
    from heddle_tools_service.knowledge.shelves import open_shelves  # noqa: PLC0415

    async with (
        open_engine(request.place, request.options) as engine,
        open_shelves(engine) as shelves,
    ):
        collection = await shelves.catalogue.get(request.collection)
        await tidy(await shelves.open(collection), ann_rows=request.ann_rows)


if __name__ == "__main__":
    main()
