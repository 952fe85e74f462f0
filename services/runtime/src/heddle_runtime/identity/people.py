"""`heddle.person.v1.PersonService`: lists, exports and erases a person's data in a service."""

import json
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from heddle.person.v1 import person_pb2 as pb
from heddle.person.v1 import person_pb2_grpc as pb_grpc

from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.errors import InvalidRequestError, NotFoundError, Violation
from heddle_runtime.identity.call_metadata import Context, caller
from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION, Identity, home
from heddle_runtime.identity.permissions import may_administer_in, require_administrator

_PART = 256 * 1024
"""The number of bytes of a file in one message."""
TREATMENTS = {
    pb.TREATMENT_DELETED: "deleted",
    pb.TREATMENT_CHOSEN: "deleted or handed over",
    pb.TREATMENT_PSEUDONYMISED: "pseudonymised",
}
"""The effect of an erasure on the things of a place, in words for users."""


def steps(
    request: pb.ErasePersonalDataRequest, services: Iterable[str]
) -> list[tuple[str, pb.ErasePersonalDataRequest]]:
    """Return the requests to the services. The first one ends the person's access."""
    first = pb.ErasePersonalDataRequest(access_only=True)
    first.MergeFrom(request)
    return [("assistants", first), *((name, request) for name in services)]


def summed(rows: Iterable[tuple[str, pb.Place]]) -> list[tuple[str, pb.Place]]:
    """Return each place of each service once, with the sum of its counts."""
    places: dict[tuple[str, str], pb.Place] = {}
    for service, each in rows:
        if (known := places.setdefault((service, each.name), each)) is not each:
            known.count += each.count
    return [(service, each) for (service, _), each in places.items()]


@dataclass(frozen=True, slots=True)
class Person:
    """A user of an organisation, or the address of a former user."""

    email: str
    organization: str
    """The slug."""

    @property
    def identity(self) -> Identity:
        """The identity by which the person's folders are named."""
        return Identity(self.email, self.organization)


@dataclass(frozen=True, slots=True)
class Erasure:
    """A request to erase the data of a person, or of a whole organisation."""

    person: Person
    """Without an address: all people and things of the organisation."""
    new_owner: str = ""
    """The new owner of things that others may use; empty: they are deleted."""
    access_only: bool = False


class PersonalData(Protocol):
    """The personal data of one service."""

    async def places(self, person: Person) -> Sequence[pb.Place]:
        """Return the places where the service stores the person's data, each with a count."""

    def files(self, person: Person) -> AsyncIterator[tuple[str, bytes]]:
        """Yield the path and the content of each file of an export."""

    async def erase(self, erasure: Erasure) -> Sequence[pb.Place]:
        """Erase the data of a person, and return how much each place had."""


class PersonServicer(pb_grpc.PersonServiceServicer):
    """Serves the contract: checks the caller, and calls the service's `PersonalData`."""

    def __init__(self, data: PersonalData) -> None:
        self._data = data

    async def ListPersonalData(
        self, request: pb.ListPersonalDataRequest, context: Context
    ) -> pb.ListPersonalDataResponse:
        """Count what the service stores of a person."""
        places = await self._data.places(_person(request.email, request.organization))
        return pb.ListPersonalDataResponse(places=places)

    async def ExportPersonalData(
        self, request: pb.ExportPersonalDataRequest, context: Context
    ) -> AsyncGenerator[pb.ExportPersonalDataResponse]:
        """Send everything that the service stores of a person."""
        async for path, data in self._data.files(_person(request.email, request.organization)):
            for start in range(0, max(1, len(data)), _PART):
                yield pb.ExportPersonalDataResponse(path=path, data=data[start : start + _PART])

    async def ErasePersonalData(
        self, request: pb.ErasePersonalDataRequest, context: Context
    ) -> pb.ErasePersonalDataResponse:
        """Erase what the service stores of a person."""
        places = await self._data.erase(_erasure(request))
        return pb.ErasePersonalDataResponse(places=places)


def mention(email: str) -> "re.Pattern[str]":
    """Return the pattern of an address in a text that is not a part of a longer one."""
    before, after = r"(?<![\w.!#$%&'*+/=?^`{|}~-])", r"(?![\w-]|\.\w)"
    return re.compile(f"{before}{re.escape(email)}{after}", re.IGNORECASE | re.ASCII)


def place(name: str, count: int, treatment: "pb.Treatment.ValueType") -> pb.Place:
    """Return the entry for a place."""
    return pb.Place(name=name, count=count, treatment=treatment)


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder and in those within it, without links."""
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(parent, name)
            if not path.is_symlink() and path.is_file():
                yield path


def content_of(path: Path) -> bytes | None:
    """Return the content of a file; None if it was deleted or became a link meanwhile."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def json_file(name: str, rows: Sequence[Any]) -> Iterator[tuple[str, bytes]]:
    """Yield the file with rows of an export, none without rows."""
    if rows:
        text = json.dumps(rows, indent=1, ensure_ascii=False)
        # Texts of models may have halves of characters, which UTF-8 lacks.
        yield f"{name}.json", text.encode("utf-8", "backslashreplace")


def _person(email: str, organization: str) -> Person:
    if not may_administer_in(caller().identity, organization):
        raise NotFoundError(
            f"No organisation is named {organization[:200]!r}.", organization=organization[:200]
        )
    address = canonical_email(email)
    if "@" not in address or "\0" in address:
        violation = Violation("email", "must be an e-mail address")
        raise InvalidRequestError("The person is not valid.", [violation])
    return Person(address, organization)


def _erasure(request: pb.ErasePersonalDataRequest) -> Erasure:
    if not request.email:
        return _erasure_of_organization(request)
    person = _person(request.email, request.organization)
    new_owner = canonical_email(request.new_owner)
    if person.email == caller().identity.subject:
        raise _wrong("email", "is your own address; another administrator can erase your data")
    if request.shared_things == pb.SHARED_THINGS_HAND_OVER:
        if "@" not in new_owner or new_owner == person.email:
            raise _wrong("new_owner", "must be the address of another user")
        return Erasure(person, new_owner, request.access_only)
    if request.shared_things != pb.SHARED_THINGS_DELETE:
        raise _wrong("shared_things", "must say whether they are deleted or handed over")
    if new_owner:
        raise _wrong("new_owner", "is only for things that are handed over")
    return Erasure(person, access_only=request.access_only)


def _erasure_of_organization(request: pb.ErasePersonalDataRequest) -> Erasure:
    """Return the erasure of an organisation, for the operator."""
    identity = caller().identity
    require_administrator(identity)
    if request.organization in ("", DEFAULT_ORGANIZATION, home(identity)):
        raise _wrong("organization", "must be neither the home organisation nor your own")
    if request.shared_things != pb.SHARED_THINGS_DELETE or request.new_owner:
        raise _wrong("shared_things", "must be deleted with an organisation")
    return Erasure(Person("", request.organization), access_only=request.access_only)


def _wrong(field: str, what: str) -> InvalidRequestError:
    return InvalidRequestError("The data cannot be erased so.", [Violation(field, what)])
