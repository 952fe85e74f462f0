"""One rubric as the database keeps it."""

import hashlib
import json
from typing import NamedTuple

from sqlalchemy import select

from heddle_assistants.database.schema import organizations, rubrics


class Row(NamedTuple):
    """A row of `rubrics`."""

    number: int
    """The row's own, by which lists are ordered; nobody else calls the rubric so."""
    id: str
    organization: str
    """The slug."""
    owner: str
    title: str
    description: str | None
    content: str
    """The text of a JSON object, unless LAMB kept something else."""
    published: bool
    """Whether others of the organisation may read it."""
    created_at: int
    updated_at: int

    @property
    def etag(self) -> str:
        """What changes whenever the row does."""
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
"""All rows, their columns in the order of `Row`."""
