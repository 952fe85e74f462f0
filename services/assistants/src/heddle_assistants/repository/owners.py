"""Whose a new assistant or rubric is."""

from heddle_runtime.email_address import canonical_email
from heddle_runtime.errors import PermissionDeniedError
from heddle_runtime.identity import Identity, home
from heddle_runtime.permissions import may_administer, may_administer_in, may_own
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.repository.organizations import is_user_of, organization_of


async def owner_of_new(
    connection: AsyncConnection, identity: Identity, owner: str
) -> tuple[str, str]:
    """Return the owner of what `identity` makes for `owner`, and the organisation's slug.

    What an assistant costs, its owner's organisation pays. So whoever administers one organisation
    makes things for its users only; others answer like users that nobody knows.

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
