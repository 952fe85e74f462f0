"""Opens the graphs of a store: tables if the collections are in PostgreSQL, otherwise files."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from heddle_knowledge.engines.address import is_database
from heddle_knowledge.engines.interface import Engine
from heddle_knowledge.graph.graphs import Graphs


@asynccontextmanager
async def open_graphs(place: str, folder: Path | None, engine: Engine) -> AsyncGenerator[Graphs]:
    """Yield the graphs.

    Args:
        place: Where the collections are; see `engines.address`.
        folder: For the files of graphs; of a database, for copies of its tables. Without: beside
            the collections if they are in a folder; copies last as long as the block; none are
            drawn of collections in a bucket.
        engine: Has the collections.
    """
    async with AsyncExitStack() as opened:
        is_shared = is_database(place)
        if folder is None and is_shared:
            folder = Path(opened.enter_context(TemporaryDirectory(prefix="heddle-graphs-")))
        if folder is None and "://" not in place:
            folder = Path(place) / "graphs"
        graphs = Graphs(folder.resolve() if folder else None, engine if is_shared else None)
        opened.push_async_callback(graphs.aclose)
        yield graphs
