"""The rules of `heddle_runtime.permissions` as conditions of queries."""

from dataclasses import dataclass
from typing import Any

from heddle_runtime.identity import ORGANIZATION_ADMIN, SERVICE, Identity, home
from heddle_runtime.permissions import may_administer
from sqlalchemy import Column, ColumnElement, and_, or_, select, true

from heddle_assistants.database.schema import assistants, organizations, rubrics


@dataclass(frozen=True, slots=True)
class OwnedRows:
    """The columns of a table that permissions depend on."""

    owner: Column[Any]
    published: Column[bool]
    organization_id: Column[Any]

    def changeable(self, identity: Identity) -> ColumnElement[bool]:
        """Return the condition of rows that `identity` may change."""
        if may_administer(identity):
            return true()
        at_home = ORGANIZATION_ADMIN in identity.scopes
        return self._at_home(identity) if at_home else self.owned(identity)

    def owned(self, identity: Identity) -> ColumnElement[bool]:
        """Return the condition of rows that `identity` owns."""
        return and_(self.owner == identity.subject, self._at_home(identity))

    def offered(self, identity: Identity) -> ColumnElement[bool]:
        """Return the condition of published rows that `identity` may use."""
        if SERVICE in identity.scopes or may_administer(identity):
            return self.published
        return and_(self.published, self._at_home(identity))

    def usable(self, identity: Identity) -> ColumnElement[bool]:
        """Return the condition of rows that `identity` may use."""
        return true() if SERVICE in identity.scopes else self.readable(identity)

    def readable(self, identity: Identity) -> ColumnElement[bool]:
        """Return the condition of rows that `identity` may read."""
        published_at_home = and_(self.published, self._at_home(identity))
        return or_(self.changeable(identity), published_at_home)

    def _at_home(self, identity: Identity) -> ColumnElement[bool]:
        query = select(organizations.c.id).where(organizations.c.slug == home(identity))
        return self.organization_id == query.scalar_subquery()


ASSISTANTS = OwnedRows(assistants.c.owner, assistants.c.published, assistants.c.organization_id)
RUBRICS = OwnedRows(rubrics.c.owner_email, rubrics.c.is_public, rubrics.c.organization_id)
