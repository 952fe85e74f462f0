"""The texts of uploaded files, for tools that put a file into a prompt."""

from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import TYPE_CHECKING

from heddle.knowledge.v1 import files_pb2 as pb
from heddle_runtime.errors import InvalidRequestError, Violation
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.grants import GrantVerifier
from heddle_runtime.rpc.ttl_cache import TTLCache
from heddle_runtime.serving.fair_slots import Tenant

from heddle_knowledge.collection.access import caller_of, reader_of
from heddle_knowledge.uploads.store import Uploads, person_key

if TYPE_CHECKING:  # loads the engine
    from heddle_knowledge.reading.parsing import TextReply
    from heddle_knowledge.store import KnowledgeStore

MAX_CHARACTERS = 400_000
_DEFAULT_CHARACTERS = 50_000
_CACHED_TEXTS = 32
_CACHE_SECONDS = 300.0


def length_of(request: pb.GetFileTextRequest) -> int:
    """Return the maximum number of characters of the text that a request asks for.

    Raises:
        InvalidRequestError: They are too many, or fewer than one.
    """
    length = request.max_characters or _DEFAULT_CHARACTERS
    if not 1 <= length <= MAX_CHARACTERS:
        violation = Violation("max_characters", f"must be between 1 and {MAX_CHARACTERS:,}")
        raise InvalidRequestError("The text of the file cannot be read.", [violation])
    return length


class FileTexts:
    """Reads the texts of uploads. The content of an upload never changes, so texts are cached."""

    def __init__(
        self,
        store: "Callable[[], Awaitable[KnowledgeStore]]",
        uploads: Uploads,
        grants: GrantVerifier,
    ) -> None:
        """Read `uploads` with the parsers of the store, as callers or their grants may."""
        self._store = store
        self._uploads = uploads
        self._grants = grants
        self._texts: TTLCache[tuple[str, str], TextReply] = TTLCache(_CACHE_SECONDS, _CACHED_TEXTS)

    async def get(self, identifier: str, max_characters: int) -> pb.GetFileTextResponse:
        """Return the beginning of the text of a file.

        Args:
            identifier: The file's.
            max_characters: From 1 to `MAX_CHARACTERS`.

        Raises:
            NotFoundError: The caller, or the owner that its grant names, has no such file.
            UnauthenticatedError: The grant is not valid.
            UnreadableDocumentError: No text can be taken from the file.
        """
        person = reader_of(caller().identity, self._grants.current()).person
        tenant = Tenant(person.organization, person_key(person))
        # Also of cached texts: the file may have been deleted.
        upload = await self._uploads.get(tenant.owner, identifier)
        key = (tenant.owner, identifier)
        reply = await self._texts.get(key, lambda: self._read(tenant, upload))
        return _response(upload, reply, max_characters)

    async def of_content(
        self, request: pb.GetFileTextRequest, max_characters: int
    ) -> pb.GetFileTextResponse:
        """Read the beginning of the text of the file in a request, which is not stored.

        Raises:
            UnreadableDocumentError: No text can be taken from the file.
        """
        person = caller_of(caller().identity)
        tenant = Tenant(person.organization, person_key(person))
        file = pb.File(
            filename=request.filename, media_type=request.media_type, size=len(request.data)
        )
        # Clients repeat the files of a conversation in each turn.
        named = f"{file.filename}\n{file.media_type}\n".encode()
        key = (tenant.owner, sha256(named + request.data).hexdigest())
        reply = await self._texts.get(key, lambda: self._parsed(tenant, file, request.data))
        return _response(file, reply, max_characters)

    def forget(self, owner: str, identifier: str) -> None:
        """Forget the text of a file that was deleted."""
        self._texts.discard((owner, identifier))

    async def _read(self, tenant: Tenant, upload: pb.File) -> "TextReply":
        data = await self._uploads.content(tenant.owner, upload.id)
        return await self._parsed(tenant, upload, data)

    async def _parsed(self, tenant: Tenant, file: pb.File, data: bytes) -> "TextReply":
        store = await self._store()
        return await store.parser.text(
            data,
            media_type=file.media_type,
            name=file.filename,
            max_characters=MAX_CHARACTERS,
            tenant=tenant,
        )


def _response(file: pb.File, reply: "TextReply", max_characters: int) -> pb.GetFileTextResponse:
    return pb.GetFileTextResponse(
        file=file,
        text=reply.text[:max_characters],
        truncated=reply.truncated or len(reply.text) > max_characters,
    )
