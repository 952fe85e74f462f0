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
    """A table, and how its rows are told apart."""

    field: str
    """The field of `RowBatch`."""
    table: Table
    unchanging: Column[Any]
    """Tells a row that was imported before from another one of its id: no edit changes it."""
    key: Sequence[Column[Any]]
    """What no two rows may share besides the id."""
    renames: bool = False
    """Whether a row whose key is taken gets another first column of `key`, or is refused."""


KINDS = (
    Kind("users", users, users.c.email, (users.c.email,)),
    Kind(
        "assistants",
        assistants,
        # Name, owner and organisation can change, in LAMB as in Heddle.
        assistants.c.created_at,
        (assistants.c.name, assistants.c.owner, assistants.c.organization_id),
        renames=True,
    ),
    Kind("rubrics", rubrics, rubrics.c.rubric_id, (rubrics.c.rubric_id,)),
    Kind("knowledge_bases", knowledge_bases, knowledge_bases.c.kb_id, (knowledge_bases.c.kb_id,)),
    Kind(
        "knowledge_stores",
        knowledge_stores,
        knowledge_stores.c.store_id,
        (knowledge_stores.c.store_id,),
    ),
)
