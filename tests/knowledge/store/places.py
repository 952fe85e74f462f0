"""Where the store of a test is, in this process and in others."""

import json
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, field

from heddle_knowledge.embedders.embedding import Embedder
from heddle_knowledge.searching.snapshots import BUDGET
from heddle_knowledge.store import KnowledgeStore, open_store
from knowledge.shared_parser import shared_parser


@dataclass(frozen=True, slots=True)
class Place:
    """An address with what is needed to reach it."""

    address: str
    options: Mapping[str, str] = field(default_factory=dict)
    search_bytes: int = BUDGET

    @classmethod
    def read(cls, argument: str) -> "Place":
        """Read what `argument` wrote."""
        return cls(**json.loads(argument))

    @property
    def argument(self) -> str:
        """The place as an argument of a command."""
        return json.dumps(asdict(self))

    def store(
        self, embedder: Embedder, *, ann_rows: int = 20_000, quiet_seconds: float = 2.0
    ) -> AbstractAsyncContextManager[KnowledgeStore]:
        """Open a store there."""
        return open_store(
            self.address,
            embedder,
            options=self.options,
            ann_rows=ann_rows,
            quiet_seconds=quiet_seconds,
            parser=shared_parser(),
            search_bytes=self.search_bytes,
        )
