"""The permissions for collections; no other module decides them.

The owner of a collection and the administrators of its organisation may do everything with it,
others read it as its sharing says. Names belong to organisations: the one that a person says is
looked up in the own organisation and then among what is shared with everyone, so nothing of
another tenant can stand before it. The identifier that a collection had before its import precedes
names; administrators of everything can name collections of all organisations by it. What a person
may not read is as good as missing everywhere. The operator's collections belong to the default
organisation and have no owner.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.errors import PermissionDeniedError
from heddle_runtime.identity.callers import (
    ADMIN,
    DEFAULT_ORGANIZATION,
    OPERATORS,
    ORGANIZATION_ADMIN,
    Identity,
    home,
)
from heddle_runtime.identity.grants import Grant

from heddle_knowledge.collection.types import (
    EMBEDDED,
    FORMER_ID,
    REGISTRY,
    SHARES,
    Collection,
    Sharing,
)
from heddle_knowledge.errors import no_collection

_ID = re.compile(r"vs_[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Person:
    """A user, as far as collections are concerned.

    Attributes:
        name: As collections name their owner. Empty: the operator in the default organisation;
            in another organisation, a user who owns nothing.
        organization: A slug.
        administrator: May do everything within the organisation.
        everything: May do everything.
    """

    name: str
    organization: str
    administrator: bool = False
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of an assistant or a collection, as requests name it. Empty: the operator."""

    name: str
    organization: str


@dataclass(frozen=True, slots=True)
class Reader:
    """With whose rights a call reads.

    Attributes:
        person: The person whose rights count.
        owner: The same, as the account service knows it.
    """

    person: Person
    owner: Owner


def reader_of(identity: Identity, grant: Grant | None) -> Reader:
    """Return with whose rights a call reads: of its grant if it carries one, else its caller's."""
    if grant is not None:
        person = owner_of(grant.owner, grant.organization)
        return Reader(person, Owner(grant.owner, grant.organization))
    person = caller_of(identity)
    is_operator = person.everything and not person.name
    owner = Owner("", "") if is_operator else Owner(person.name, person.organization)
    return Reader(person, owner)


def caller_of(identity: Identity) -> Person:
    """Return the person who makes a call.

    A caller who may do everything and belongs to no organisation is the operator.
    """
    if ADMIN in identity.scopes and not identity.organization:
        return Person("", DEFAULT_ORGANIZATION, everything=True)
    administrator = ORGANIZATION_ADMIN in identity.scopes
    everything = ADMIN in identity.scopes
    return Person(identity.subject, home(identity), administrator, everything)


def owner_of(owner: str, organization: str) -> Person:
    """Return the owner of an assistant, who has no rights beyond that.

    An assistant without an owner is the operator's, as is one that the operator created.
    """
    organization = home(Identity(owner, organization))
    is_operators = owner in OPERATORS and organization == DEFAULT_ORGANIZATION
    return Person("" if is_operators else owner, organization)


def lender_of(collection: Collection) -> Owner:
    """Return the user who registered a collection at another server, whose rights count there."""
    if _is_operators(collection):
        return Owner("", "")
    return Owner(collection.owner, collection.organization)


def may_change(person: Person, collection: Collection) -> bool:
    """Return whether a person may do everything with a collection."""
    if person.everything:
        return True
    if collection.organization != person.organization:
        return False
    owns = collection.owner == person.name and bool(person.name or _is_operators(collection))
    return person.administrator or owns


def may_read(person: Person, collection: Collection) -> bool:
    """Return whether a person, and the person's assistants, may search a collection."""
    if collection.sharing == "everyone" or may_change(person, collection):
        return True
    at_home = collection.organization == person.organization
    return collection.sharing == "organization" and at_home


def may_share(person: Person, collection: Collection) -> bool:
    """Return whether the imported registry decides if a person may read a collection."""
    is_registered = collection.settings.get(SHARES) == REGISTRY
    return is_registered and collection.organization == person.organization


def is_id(reference: str) -> bool:
    """Return whether a reference has the form of an identifier, which no name may have."""
    return _ID.fullmatch(reference) is not None


def meant(known: Iterable[Collection], person: Person, reference: str) -> Collection:
    """Return the collection that a person means by a name or an identifier.

    Raises:
        CollectionNotFoundError: There is none that the person may read.
    """
    collection = find(known, reference, person, lambda it: may_read(person, it))
    if collection is None:
        raise no_collection(reference)
    return collection


def find(
    known: Iterable[Collection],
    reference: str,
    person: Person,
    may: Callable[[Collection], bool],
) -> Collection | None:
    """Return the collection that a person means, among those of which `may` is true."""
    names = (it for it in known if reference in (it.name, it.public_id, it.former_id) and may(it))
    if is_id(reference):
        return next(names, None)
    candidates = list(names)
    imported = [it for it in candidates if it.former_id == reference]
    if home := [it for it in imported if it.organization == person.organization]:
        return home[0]
    if person.everything and len(imported) == 1:  # several servers may have used one number
        return imported[0]
    collection = min(candidates, key=lambda it: _rank(person, it), default=None)
    if collection is not None and _rank(person, collection)[0] == _ELSEWHERE:
        return None
    return collection


def changeable(known: Iterable[Collection], person: Person, reference: str) -> Collection:
    """Return the collection that a person means and may change.

    Raises:
        CollectionNotFoundError: There is none that the person may read.
        PermissionDeniedError: The person may only read it.
    """
    collection = meant(known, person, reference)
    if not may_change(person, collection):
        raise PermissionDeniedError(
            f"The collection {reference!r} is shared for reading. Only its owner and the "
            "administrators of its organisation may change it."
        )
    return collection


def check_sharing(person: Person, sharing: Sharing) -> None:
    """Refuse to let a person share with everyone who may not.

    Raises:
        PermissionDeniedError: The person may not.
    """
    if sharing == "everyone" and not person.everything:
        raise PermissionDeniedError(
            "Only a caller with the scope 'admin' may share a collection with everyone. Share it "
            "with the organisation."
        )


def check_former_id(person: Person, requested: pb.Collection) -> None:
    """Refuse the identifier of an imported collection, which precedes all names.

    Raises:
        PermissionDeniedError: The person may not set it.
    """
    embedded = requested.backend in {"", EMBEDDED}
    if embedded and requested.settings.get(FORMER_ID) and not person.everything:
        raise PermissionDeniedError(
            "Only a caller with the scope 'admin' may give a collection the identifier of an "
            "imported one."
        )


_HOME, _EVERYONES, _ELSEWHERE = range(3)


def _rank(person: Person, collection: Collection) -> tuple[int, bool, float]:
    """Return the order in which collections of one name are meant."""
    created_at = collection.created_at.timestamp()
    if collection.organization == person.organization:
        return _HOME, False, created_at
    if collection.sharing == "everyone":  # the operator's first, else whoever was first
        return _EVERYONES, not _is_operators(collection), created_at
    return _ELSEWHERE, False, created_at  # an administrator of everything names these by identifier


def _is_operators(collection: Collection) -> bool:
    return not collection.owner and collection.organization == DEFAULT_ORGANIZATION
