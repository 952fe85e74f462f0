"""Texts that extensions of the gateway store: small, encrypted, and under names of their own."""

import time
from dataclasses import dataclass

from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.errors import AlreadyExistsError, NotFoundError
from heddle_runtime.storage.database.engine import Database
from heddle_runtime.storage.database.inserting import insertion, upsert
from sqlalchemy import delete, select, update

from heddle_assistants.database.encryption import Keys
from heddle_assistants.database.schema import extension_texts
from heddle_assistants.field_checks import require

MAX_NAME = 500
MAX_TEXT = 64 * 1024
_T = extension_texts.c


@dataclass(eq=False, slots=True)
class ExtensionTexts:
    """Stores and returns them."""

    database: Database
    keys: Keys

    async def put(self, request: pb.PutExtensionTextRequest) -> None:
        """Store a text, and delete those that have ended.

        Raises:
            AlreadyExistsError: The name has to be new, and is not.
            InvalidRequestError: The name or the text has a wrong length.
        """
        check(request)
        name = request.name
        expires_at = request.expire_time.seconds if request.HasField("expire_time") else None
        sealed = self.keys.seal(request.text, _place(name))
        async with self.database.writing() as connection:
            await connection.execute(
                delete(extension_texts).where(_T.expires_at <= int(time.time()))
            )
            adding = insertion(connection, extension_texts).values(
                name=name, sealed=sealed, expires_at=expires_at
            )
            if not request.only_new:
                await connection.execute(upsert(adding, sealed=sealed, expires_at=expires_at))
                return
            new = adding.on_conflict_do_nothing().returning(_T.name)
            if await connection.scalar(new) is None:
                raise AlreadyExistsError("The name has a text.", name=name[:100])

    async def get(self, name: str) -> str:
        """Return a text. One that an older key has encrypted is encrypted anew.

        Raises:
            NotFoundError: There is none.
            UnreadableSecretError: None of the keys decrypts it.
        """
        current = _T.expires_at.is_(None) | (_T.expires_at > int(time.time()))
        async with self.database.reading() as connection:
            query = select(_T.sealed).where(_T.name == name.replace("\0", ""), current)
            sealed = await connection.scalar(query)
        if sealed is None:
            raise NotFoundError("The name has no text.", name=name[:100])
        text = str(self.keys.open(sealed, _place(name)))
        if not self.keys.is_current(sealed, _place(name)):
            changed = update(extension_texts).where(_T.name == name, _T.sealed == sealed)
            async with self.database.writing() as connection:
                await connection.execute(changed.values(sealed=self.keys.seal(text, _place(name))))
        return text


def check(request: pb.PutExtensionTextRequest) -> None:
    """Refuse a name or a text of a wrong length.

    Raises:
        InvalidRequestError: It has one.
    """
    valid = 1 <= len(request.name) <= MAX_NAME and "\0" not in request.name
    require(valid, "name", f"must have 1 to {MAX_NAME} characters")
    require(len(request.text) <= MAX_TEXT, "text", f"must have at most {MAX_TEXT} characters")


def _place(name: str) -> tuple[str, str]:
    return "extension_texts", name
