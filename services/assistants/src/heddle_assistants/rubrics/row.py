"""A rubric as a row of the database."""

import hashlib
import json
from typing import NamedTuple

from sqlalchemy import select

from heddle_assistants.database.schema import organizations, rubrics


class Row(NamedTuple):
    """A row of `rubrics`."""

    number: int
    """The number of the row, by which lists are ordered. No other service uses it."""
    id: str
    organization: str
    """The slug."""
    owner: str
    title: str
    description: str | None
    content: str
    """The text of a JSON object, unless something else was imported."""
    published: bool
    """Whether others of the organisation may read it."""
    created_at: int
    updated_at: int

    @property
    def etag(self) -> str:
        """A text that changes with every change of the row."""
        return hashlib.sha256(json.dumps(self).encode()).hexdigest()[:32]


ROWS = select(
    rubrics.c.id,
    rubrics.c.rubric_id,
    organizations.c.slug,
    rubrics.c.owner_email,
    rubrics.c.title,
    rubrics.c.description,
    rubrics.c.rubric_data,
    rubrics.c.is_public,
    rubrics.c.created_at,
    rubrics.c.updated_at,
).join(organizations, rubrics.c.organization_id == organizations.c.id)
"""The query for all rows, with columns in the order of `Row`."""
