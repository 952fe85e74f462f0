"""One assistant as the database keeps it."""

from typing import Any, NamedTuple, Protocol

from heddle_conversion import LegacyColumns
from heddle_conversion.identifiers import DELETED_OWNER
from sqlalchemy import and_, select

from heddle_assistants.database.schema import assistants, organizations


class MigratedRow(Protocol):
    """The columns of a migrated row that its original and its log line hold."""

    @property
    def id(self) -> int:
        """The number."""

    @property
    def name(self) -> str:
        """The name."""

    @property
    def owner(self) -> str:
        """The owner's e-mail address."""

    @property
    def metadata(self) -> str | None:
        """The document, as it is kept."""


class Row(NamedTuple):
    """A row of `assistants`; members are named like its columns."""

    id: int
    organization: str
    """The slug."""
    name: str
    description: str | None
    owner: str
    metadata: str | None
    system_prompt: str | None
    prompt_template: str | None
    rag_endpoint: str | None
    rag_top_k: Any
    """A number or a text."""
    rag_collections: str | None
    pre_retrieval_endpoint: str | None
    post_retrieval_endpoint: str | None
    published: bool
    group_id: str | None
    group_name: str | None
    oauth_consumer_name: str | None
    published_at: int | None
    created_at: int
    updated_at: int
    revision: int
    deleted_at: int | None

    @property
    def etag(self) -> str:
        """What changes whenever the row does."""
        return f"{self.id}-{self.revision}"

    @property
    def deleted(self) -> bool:
        """Whether it is out of use."""
        return self.deleted_at is not None or self.owner == DELETED_OWNER

    @property
    def legacy(self) -> LegacyColumns:
        """The columns that told a part of the configuration before version 2."""
        return LegacyColumns(self.rag_top_k, self.rag_collections)


ROWS = select(
    *(
        organizations.c.slug if name == "organization" else assistants.c[name]
        for name in Row._fields
    )
).join(organizations, assistants.c.organization_id == organizations.c.id)
"""All rows, the deleted ones too."""
LIVING = and_(assistants.c.deleted_at.is_(None), assistants.c.owner != DELETED_OWNER)
"""The condition of those that are not deleted."""
