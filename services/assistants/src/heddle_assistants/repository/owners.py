"""Determines the owner of a new assistant or rubric."""

from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.errors import PermissionDeniedError
from heddle_runtime.identity.callers import Identity, home
from heddle_runtime.identity.permissions import may_administer, may_administer_in, may_own
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts.owner_organizations import is_user_of, organization_of


async def owner_of_new(
    connection: AsyncConnection, identity: Identity, owner: str
) -> tuple[str, str]:
    """Return the owner of a new thing that `identity` creates for `owner`, and the organisation.

    The owner's organisation pays for an assistant. So administrators of an organisation create
    things for its users only. Other users get the same answer as unknown ones.

    Raises:
        PermissionDeniedError: `identity` may not make one for that owner.
    """
    owner = canonical_email(owner)
    if not owner or owner == identity.subject:
        if not may_own(identity):
            raise PermissionDeniedError(
                "The key of an organisation owns nothing. Name an owner, or use a user's key."
            )
        return identity.subject, home(identity)
    own = home(identity)
    if may_administer(identity):
        return owner, await organization_of(connection, owner) or own
    if may_administer_in(identity, own) and await is_user_of(connection, owner, own):
        return owner, own
    raise PermissionDeniedError(
        "Only an administrator may make something for somebody else, a user of the organisation."
    )
