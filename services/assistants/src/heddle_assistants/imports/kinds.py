"""The tables that rows can be imported into."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Table

from heddle_assistants.database.schema import (
    assistants,
    knowledge_bases,
    knowledge_stores,
    rubrics,
    users,
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A table, and the columns that identify its rows."""

    field: str
    """The field of `RowBatch`."""
    table: Table
    unchanging: Column[Any]
    """The column that identifies a row that was imported before: no edit changes it."""
    key: Sequence[Column[Any]]
    """The columns whose values no two rows may share, besides the id."""
    renames: bool = False
    """Whether a row whose key is taken gets another first column of `key`, or is refused."""
    followed: Sequence[str] = ()
    """Further columns that are applied besides the organisation, for tables without own code."""


_KINDS = (
    Kind(
        "users",
        users,
        users.c.email,
        (users.c.email,),
        followed=("name", "role", "enabled"),
    ),
    Kind(
        "assistants",
        assistants,
        # Name, owner and organisation can change, in both databases.
        assistants.c.created_at,
        (assistants.c.name, assistants.c.owner, assistants.c.organization_id),
        renames=True,
    ),
    Kind(
        "rubrics",
        rubrics,
        rubrics.c.rubric_id,
        (rubrics.c.rubric_id,),
        followed=(
            *("owner_email", "title", "description", "rubric_data"),
            *("is_public", "is_showcase", "parent_rubric_id"),
        ),
    ),
    Kind(
        "knowledge_bases",
        knowledge_bases,
        knowledge_bases.c.kb_id,
        (knowledge_bases.c.kb_id,),
        followed=("owner_email", "name", "description", "is_shared"),
    ),
    Kind(
        "knowledge_stores",
        knowledge_stores,
        knowledge_stores.c.store_id,
        (knowledge_stores.c.store_id,),
        followed=(
            *("owner_email", "name", "description", "is_shared"),
            *("embedding_vendor", "embedding_model", "embedding_endpoint"),
        ),
    ),
)
KINDS = {each.field: each for each in _KINDS}
"""The tables by their fields of `RowBatch`."""
