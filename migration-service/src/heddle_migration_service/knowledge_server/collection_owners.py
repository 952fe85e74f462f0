"""Owners of collections that LAMB creates: users, whom LAMB names by its numbers.

LAMB creates the collections of all its users with one key. A trusted key of an administrator may
create them for the users whom it administers. Any other key creates collections of its own owner.
"""

import hashlib
import re
import secrets

from heddle.account.v1 import account_pb2
from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_gateway.auth.sessions import KeyCredential
from heddle_gateway.openai.vector_stores import collections
from heddle_gateway.routing import Call
from heddle_gateway.services import ServiceClients, call
from heddle_runtime.errors import AlreadyExistsError, NotFoundError, PermissionDeniedError
from heddle_runtime.identity.call_metadata import caller, calling_as, on_behalf_of
from heddle_runtime.identity.callers import ADMIN, CREATOR, ORGANIZATION_ADMIN, Identity, home
from heddle_runtime.identity.permissions import scopes_of

from heddle_migration_service.knowledge_server.numbers import number_of

OWNER = "lamb_owner"
"""The metadata with LAMB's number of the owner."""
_CREATING = {ADMIN, ORGANIZATION_ADMIN, CREATOR}
_NUMBER = re.compile(r"[1-9][0-9]{0,17}")
_MAX_NAME = 48
_DIGITS = 12


async def owner_of(api: Call, number: str) -> Identity:
    """Return who owns a new collection: the user with a number of LAMB's, else the caller.

    As with a trusted key that names a user, the user has no right of an administrator.

    Raises:
        PermissionDeniedError: The user is disabled.
        UnavailableError: The account service does not answer.
    """
    identity = caller().identity
    credential = api.raw.credential
    speaks_for_others = isinstance(credential, KeyCredential) and credential.speaks_for_others
    if not speaks_for_others or not _NUMBER.fullmatch(number):
        return identity
    request = account_pb2.ResolveUserNumberRequest(number=int(number))
    method = api.services.accounts.ResolveUserNumber
    try:
        with api.state.credentials.as_service():
            user = await call(method, request)
    except NotFoundError:
        return identity
    scopes = (CREATOR,) if CREATOR in scopes_of(user.role) else ()
    owner = Identity(user.email, user.organization, scopes, key_id=identity.key_id)
    if not _administers(identity, home(owner)):
        return identity
    if user.disabled:
        raise PermissionDeniedError(f"The user with LAMB's number {number} is disabled.")
    return owner


async def create_titled(services: ServiceClients, collection: pb.Collection) -> pb.Collection:
    """Create a collection of the caller's whose title no other one of LAMB's owner has.

    The name is derived from the owner and the title, so that one of two simultaneous calls fails.

    Raises:
        AlreadyExistsError: The owner has a collection with this title.
        HeddleError: The collection cannot be created.
    """
    owner, title = collection.metadata.get(OWNER, ""), collection.title
    await _check_title(services, owner, title)
    digest = hashlib.sha256(f"{owner}\n{title}".encode()).hexdigest()[:_DIGITS]
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", title).strip("_.-")[:_MAX_NAME] or "collection"
    collection.name = f"{plain}-{digest}"
    try:
        return await _create_numbered(services, collection)
    except AlreadyExistsError:
        await _check_title(services, owner, title)
    # The collection of this name has been renamed since.
    collection.name = f"{plain}-{secrets.token_hex(_DIGITS // 2)}"
    return await _create_numbered(services, collection)


async def _create_numbered(services: ServiceClients, collection: pb.Collection) -> pb.Collection:
    """Create a collection of the caller's with a new number, by which assistants can name it.

    Numbers precede names, so that only administrators may set them. No caller chooses this one.
    """
    identity = caller().identity
    if not _CREATING.isdisjoint(identity.scopes):  # the service refuses all others
        collection.settings["collection_id"] = str(number_of(secrets.token_hex(16)))
        if ADMIN not in identity.scopes:
            scopes, organization = (*identity.scopes, ADMIN), home(identity)
            identity = Identity(identity.subject, organization, scopes, key_id=identity.key_id)
    request = pb.CreateCollectionRequest(collection=collection)
    with calling_as(on_behalf_of(identity)):
        return (await call(services.knowledge.CreateCollection, request)).collection


async def _check_title(services: ServiceClients, owner: str, title: str) -> None:
    """Raise `AlreadyExistsError` if the caller owns a collection with a title and LAMB's owner."""
    mine = caller().identity.subject
    for each in await collections(services, title):
        own = each.owner in ("", mine) and each.changeable
        if own and each.title == title and each.metadata.get(OWNER, "") == owner:
            raise AlreadyExistsError(f"The owner {owner!r} has a collection {title!r} already.")


def _administers(identity: Identity, organization: str) -> bool:
    if ADMIN in identity.scopes:
        return True
    return ORGANIZATION_ADMIN in identity.scopes and home(identity) == organization
