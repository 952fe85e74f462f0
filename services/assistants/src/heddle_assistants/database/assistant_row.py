"""An assistant as a row of the database."""

from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from heddle_conversion import LegacyColumns, newest
from heddle_conversion.identifiers import DELETED_OWNER
from sqlalchemy import and_, select

from heddle_assistants.database.schema import assistants, organizations


class Shares(NamedTuple):
    """The users of the organisation with whom an assistant is shared."""

    users: AbstractSet[str] = frozenset()
    """The users who may use it and not edit it."""
    editors: AbstractSet[str] = frozenset()

    @classmethod
    def of(cls, text: str) -> "Shares":
        """Parse the column `sharing`."""
        if not text:
            return NOBODY
        each = text.split(" ")
        return cls(
            frozenset(item.removeprefix(_USE) for item in each if item.startswith(_USE)),
            frozenset(item.removeprefix(_EDIT) for item in each if item.startswith(_EDIT)),
        )

    @property
    def text(self) -> str:
        """The text of the column `sharing`, separated by spaces: no e-mail address has one."""
        items = (*map(_USE.__add__, self.users), *map(_EDIT.__add__, self.editors))
        return " ".join(sorted(items))


_USE, _EDIT = "use:", "edit:"
NOBODY = Shares()


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
    sharing: str = ""
    """The users with whom it is shared; see `Shares`."""

    @property
    def shares(self) -> Shares:
        """The users with whom it is shared."""
        return Shares.of(self.sharing)

    @property
    def etag(self) -> str:
        """A text that changes with every change of the row."""
        return f"{self.id}-{self.revision}"

    @property
    def deleted(self) -> bool:
        """Whether it is deleted."""
        return self.deleted_at is not None or self.owner == DELETED_OWNER

    @property
    def is_emptied(self) -> bool:
        """Whether it was deleted so long ago that its contents are gone, too."""
        return self.deleted_at is not None and self.metadata is None

    @property
    def legacy(self) -> LegacyColumns:
        """The columns that held a part of the configuration before version 2."""
        return LegacyColumns(self.rag_top_k, self.rag_collections)


class BatchRow(NamedTuple):
    """The columns of a row that a batch reads."""

    id: int
    name: str
    owner: str
    metadata: str | None
    rag_top_k: Any
    rag_collections: str | None
    revision: int
    migrated_to: int | None
    """The version that the migration wrote; None if no original is stored."""
    edited: bool
    """Whether the metadata differs from what the migration wrote."""
    deleted_at: int | None
    """The time of deletion, in seconds since 1970."""

    @property
    def is_current(self) -> bool:
        """Whether the metadata is what a migration to the newest version wrote.

        So is a deleted assistant without metadata: its contents were deleted, too.
        """
        if self.metadata is None and self.deleted_at is not None:
            return True
        return self.migrated_to == newest() and not self.edited

    @property
    def legacy(self) -> LegacyColumns:
        """The columns that held a part of the configuration before version 2."""
        return LegacyColumns(self.rag_top_k, self.rag_collections)

    @property
    def version(self) -> tuple[int, str | None]:
        """What changes with the row or its metadata, even if they are edited by hand."""
        return self.revision, self.metadata


MigratedRow = Row | BatchRow


ROWS = select(
    *(
        organizations.c.slug if name == "organization" else assistants.c[name]
        for name in Row._fields
    )
).join(organizations, assistants.c.organization_id == organizations.c.id)
"""The query for all rows, deleted ones included."""
LIVING = and_(assistants.c.deleted_at.is_(None), assistants.c.owner != DELETED_OWNER)
"""The condition of rows that are not deleted."""
