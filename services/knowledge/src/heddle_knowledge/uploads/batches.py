"""Which files were attached together: one small file for each batch, beside the attachments."""

from pathlib import Path

import msgspec
from heddle_runtime.durable_files import write
from heddle_runtime.errors import NotFoundError

from heddle_knowledge.uploads.records import Batch, is_batch_id

_decode = msgspec.json.Decoder(Batch).decode


class Batches:
    """Reads and writes the batches in the folder of `Attachments`. Blocks: call it from a thread.

    They go with their collection.
    """

    def __init__(self, root: Path) -> None:
        """Take the folder; that of a collection is there as soon as a file is attached to it."""
        self._root = root / "attached"

    def keep(self, batch: Batch) -> None:
        """Keep what is known of a batch.

        Raises:
            NotFoundError: The collection was deleted meanwhile.
        """
        try:
            write(self._place(batch.collection, batch.id), msgspec.json.encode(batch))
        except FileNotFoundError:
            raise NotFoundError("The collection was just deleted. Create it again.") from None

    def get(self, collection: str, identifier: str) -> Batch:
        """Return a batch of a collection.

        Raises:
            NotFoundError: There is none.
        """
        if is_batch_id(identifier):
            try:
                return _decode(self._place(collection, identifier).read_bytes())
            except FileNotFoundError:
                pass
        raise NotFoundError(
            f"The collection has no batch of files {identifier[:80]!r}. Make one, or list the "
            "files of the collection."
        )

    def _place(self, collection: str, identifier: str) -> Path:
        return self._root / collection / f"{identifier}.json"
