"""The rules of `heddle_runtime.identity.permissions` as conditions of queries."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Protocol

from heddle_runtime.identity.callers import ORGANIZATION_ADMIN, SERVICE, Identity, home
from heddle_runtime.identity.permissions import Publishable, may_administer, may_change, may_inspect
from heddle_runtime.identity.permissions import may_use as may_use_published
from sqlalchemy import Column, ColumnElement, and_, or_, select, true

from heddle_assistants.database.assistant_row import Shares
from heddle_assistants.database.schema import (
    assistant_users,
    assistants,
    group_assistants,
    group_members,
    organizations,
    prompts,
    rubrics,
)

OF_GROUPS = select(group_assistants.c.assistant_id).join(
    group_members, group_members.c.group_id == group_assistants.c.group_id
)
"""The query for the assistants of the groups that users are in."""


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


@dataclass(frozen=True, slots=True)
class SharedRows(OwnedRows):
    """The columns of a table whose rows are shared with single users, too."""

    id: Column[Any]

    def editable(self, identity: Identity) -> ColumnElement[bool]:
        """Return the condition of rows that `identity` may edit."""
        editing = self.shared(identity, assistant_users.c.may_edit)
        return or_(self.changeable(identity), editing)

    def offered(self, identity: Identity) -> ColumnElement[bool]:
        """Return the condition of rows that are published or shared, and `identity` may use."""
        return or_(
            OwnedRows.offered(self, identity), self.shared(identity), self.in_groups(identity)
        )

    def readable(self, identity: Identity) -> ColumnElement[bool]:
        """Return the condition of rows that `identity` may read."""
        return or_(
            OwnedRows.readable(self, identity), self.shared(identity), self.in_groups(identity)
        )

    def shared(self, identity: Identity, *also: ColumnElement[bool]) -> ColumnElement[bool]:
        """Return the condition of rows that are shared with `identity` by name."""
        mine = assistant_users.c.email == identity.subject
        query = select(assistant_users.c.assistant_id).where(mine, *also)
        return and_(self.id.in_(query), self._at_home(identity))

    def in_groups(self, identity: Identity) -> ColumnElement[bool]:
        """Return the condition of rows that are published to a group of `identity`."""
        mine = group_members.c.email == identity.subject
        return and_(self.id.in_(OF_GROUPS.where(mine)), self._at_home(identity))


class SharedThing(Publishable, Protocol):
    """An assistant, which can be shared with single users."""

    @property
    def shares(self) -> Shares:
        """The users with whom it is shared."""


def may_edit(identity: Identity, it: SharedThing) -> bool:
    """Return whether `identity` may change the content of an assistant."""
    return may_change(identity, it) or _is_at_home_in(identity, it, it.shares.editors)


def may_see(identity: Identity, it: SharedThing) -> bool:
    """Return whether `identity` may read how an assistant works."""
    return may_inspect(identity, it) or _is_at_home_in(identity, it, it.shares.editors)


def may_use(identity: Identity, it: SharedThing) -> bool:
    """Return whether `identity` may use an assistant."""
    users = it.shares.users | it.shares.editors
    return may_use_published(identity, it) or _is_at_home_in(identity, it, users)


def _is_at_home_in(identity: Identity, it: SharedThing, users: AbstractSet[str]) -> bool:
    return bool(users) and identity.subject in users and it.organization == home(identity)


ASSISTANTS = SharedRows(
    assistants.c.owner, assistants.c.published, assistants.c.organization_id, assistants.c.id
)
RUBRICS = OwnedRows(rubrics.c.owner_email, rubrics.c.is_public, rubrics.c.organization_id)
PROMPTS = OwnedRows(prompts.c.owner_email, prompts.c.is_public, prompts.c.organization_id)
