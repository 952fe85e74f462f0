"""What Heddle stores of links of learning platforms, as texts of an extension."""

import hashlib
import time
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from google.protobuf.timestamp_pb2 import Timestamp
from heddle.account.v1 import account_pb2 as pb
from heddle.account.v1.account_pb2_grpc import AccountServiceAsyncStub
from heddle_runtime.errors import AlreadyExistsError, NotFoundError
from heddle_runtime.identity.service_credentials import ServiceCredentials

ACTIVITY, ASSISTANT, AUTHORS = "activity", "assistant", "authors"
"""Kinds of links and keys of LAMB: an activity with some assistants, one published assistant, and
the authors of an organisation."""
StructT = TypeVar("StructT", bound=msgspec.Struct)


class Consumer(msgspec.Struct, frozen=True):
    """A key of LTI 1.1."""

    secret: str
    organization: str = ""
    """The slug of the organisation whose authors it lets in."""


class Link(msgspec.Struct, frozen=True):
    """What a link in a course leads to."""

    organization: str
    assistants: list[str]
    title: str = ""


class Course(msgspec.Struct, frozen=True):
    """The group of learners of a link, or of a course."""

    group: str


class ToolKey(msgspec.Struct, frozen=True):
    """The key with which Heddle signs messages to platforms."""

    pem: str
    identifier: str


class Used(msgspec.Struct, frozen=True):
    """A launch that was used."""


class Imported(msgspec.Struct, frozen=True):
    """A row that an import has stored: what became of it since stays."""


@dataclass(frozen=True, slots=True)
class LtiTexts:
    """Reads and writes them. A text is known by its type, and by parts that identify it."""

    stub: AccountServiceAsyncStub
    credentials: ServiceCredentials

    async def get(self, kind: type[StructT], *parts: str) -> StructT | None:
        """Return what is stored; None if nothing is."""
        request = pb.GetExtensionTextRequest(name=_name(kind, parts))
        try:
            response = await self.credentials.call(self.stub.GetExtensionText, request)
        except NotFoundError:
            return None
        return msgspec.json.decode(response.text, type=kind)

    async def put(
        self, value: msgspec.Struct, *parts: str, only_new: bool = True, seconds: int = 0
    ) -> bool:
        """Store something, and return whether it was stored.

        Args:
            value: It.
            parts: They identify it.
            only_new: Leave what is there already.
            seconds: For how long it is stored. 0: for ever.
        """
        end = Timestamp(seconds=int(time.time()) + seconds) if seconds else None
        text = msgspec.json.encode(value).decode()
        request = pb.PutExtensionTextRequest(
            name=_name(type(value), parts), text=text, only_new=only_new, expire_time=end
        )
        try:
            await self.credentials.call(self.stub.PutExtensionText, request)
        except AlreadyExistsError:
            return False
        return True


def _name(kind: type[msgspec.Struct], parts: tuple[str, ...]) -> str:
    digest = hashlib.sha256(msgspec.json.encode(parts)).hexdigest()
    return f"lti:{kind.__name__.lower()}:{digest}"
