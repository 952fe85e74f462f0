"""Who may read which rubrics, to Python and to SQL. `access.may_change` says who changes one."""

from collections.abc import Callable
from dataclasses import dataclass

from heddle_runtime.identity import ORGANIZATION_ADMIN, Identity, home
from heddle_runtime.permissions import may_administer, may_change
from sqlalchemy import ColumnElement, and_, or_, true

from heddle_assistants.database.schema import organizations, rubrics
from heddle_assistants.rubrics.row import Row

Allowed = Callable[[Row], bool]
"""Says whether somebody may read a rubric."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of an assistant, who has no rights beyond that."""

    name: str
    """Empty if it is nobody."""
    organization: str

    def reads(self, rubric: Row) -> bool:
        """Say whether the owner's assistants may use a rubric."""
        if rubric.organization != self.organization:
            return False
        return rubric.public or (bool(self.name) and rubric.owner == self.name)


def may_read(identity: Identity, rubric: Row) -> bool:
    """Say whether `identity` may read a rubric."""
    if may_change(identity, rubric):
        return True
    return rubric.public and rubric.organization == home(identity)


def readable(identity: Identity) -> ColumnElement[bool]:
    """Return the condition of rows that `identity` may read."""
    if may_administer(identity):
        return true()
    if ORGANIZATION_ADMIN in identity.scopes:
        return _at_home(identity)
    return or_(owned(identity), and_(rubrics.c.is_public, _at_home(identity)))


def owned(identity: Identity) -> ColumnElement[bool]:
    """Return the condition of rows that `identity` owns."""
    return and_(rubrics.c.owner_email == identity.subject, _at_home(identity))


def _at_home(identity: Identity) -> ColumnElement[bool]:
    return organizations.c.slug == home(identity)
